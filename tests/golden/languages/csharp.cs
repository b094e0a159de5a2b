using System;
using A = X.Y.Z;
using static System.Math;
namespace Acme.Web {
  /// <summary>doc</summary>
  [Serializable]
  public partial class Foo<T> : Bar<T>, IBaz, N.Q where T : class {
    private const int Max = 3, Min = 1;
    public string Name { get; set; }
    public event EventHandler Ev;
    public Foo() { }
    ~Foo() {}
    public void Run(int x) { void Local() {} }
    public static Foo<T> operator +(Foo<T> a, Foo<T> b) => a;
    public int this[int i] => 1;
    public enum Color { Red }
    delegate void D(int a);
  }
  interface IBaz : IX { void M(); }
  struct St : IY { }
  record Rec(int A) : Base(A);
  record struct RS(int A);
}
