package com.acme.x
import a.b.C
import a.b.{D, E => F}
import a.b._
/** doc */
@ann
abstract class Foo[T](val x: Int) extends Base[T](x) with Mix with q.R {
  val a = 1
  var (b, c) = (1, 2)
  def run(x: Int): Int = { def inner = 1; 1 }
  type T2 = Int
  class Inner
}
trait Tr extends X { def z: Int }
object Foo extends App { def make = 1 }
case class CC(a: Int) extends Y
enum Color extends Z { case Red, Green }
package inner { class P }
def top(x: Int) = 1
given ordering: Ord[Int] with { def q = 1 }
extension (s: String) def shout = 1
case object O
