package com.acme.k
import com.acme.base.Base
import com.acme.x.*
import a.b.C as D
/** doc */
@Serializable
data class P(val x: Int, y: Int) : Base(x), Iface  {
    val lazyv by lazy { 1 }
    companion object { const val K = 1; fun make() = 1 }
    fun f(): Int { fun g() {}; return 1 }
    inner class In
    constructor(a: Int) : this(a, 1) {}
}
interface Iface<T> : X { fun z() }
object Single : Y
enum class Co { RED, GREEN; fun q() {} }
sealed interface Se
fun String.ext(a: Int) = 3
val top = 1
typealias T2 = List<Int>
