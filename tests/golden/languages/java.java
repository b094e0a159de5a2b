package com.acme.web;
import java.util.List;
import static java.util.Map.of;
import com.acme.base.*;
/** Doc of A. */
@Service
public abstract class A<T> extends base.B<T> implements C, D<List<T>> {
    private static final int MAX = 3, MIN = 2;
    /** ctor */
    public A() {}
    @Override public void run(int x) { Runnable r = new Runnable() { public void run() {} }; }
    interface Inner extends X, Y { void z(); int Q = 1; }
    enum Color implements E { RED, GREEN { void f() {} }; void g() {} }
    record Point(int x, int y) implements F { Point { } static int s() { return 1; } }
    @interface Anno { String value() default ""; }
}
