import Foundation
/// doc
@objc public class Foo<T>: Base, Proto where T: X {
    var name: String = ""
    let (a, b) = (1, 2)
    static let shared = Foo()
    init(x: Int) {}
    deinit {}
    /// doc
    func run(_ x: Int) -> Int { func inner() {}; return 1 }
    subscript(i: Int) -> Int { 1 }
    enum Inner: String { case a, b(Int) }
    struct S { var q: Int }
}
struct P: Codable { }
protocol Proto: AnyObject, Z { func f(); var x: Int { get } ; associatedtype I }
extension Foo: Extra { func ext() {} }
actor Act { }
indirect enum E { case one }
func top() {}
typealias A = Int
let g = 1
public func == (a: P, b: P) -> Bool { true }
