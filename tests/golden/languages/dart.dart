library foo;
import 'dart:io';
import 'package:a/b.dart' as b;
part 'x.dart';
/// doc
@immutable
abstract class Foo<T> extends Base<T> with Mix, b.M2 implements I, J {
  final int x;
  static const a = 1, c = 2;
  Foo(this.x);
  Foo.named(this.x);
  factory Foo.make() => Foo(1);
  /// doc
  int run(int a) { void inner() {} return 1; }
  int get size => 1;
  set size(int v) {}
  Foo operator +(Foo o) => this;
  void abs();
}
mixin Mix on Base implements Z { void m() {} }
extension Ext on String { int e() => 1; }
enum Color with Q implements W { red, green; void f() {} }
typedef F = int Function(int);
void main() { }
const top = 1;
var y = 2, z = 3;
int get gtop => 1;
