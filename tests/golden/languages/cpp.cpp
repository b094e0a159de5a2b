#include <vector>
#include "base.h"
using namespace std;
namespace a::b {
/// doc
template <typename T>
class Foo : public Bar<T>, private ns::Baz {
 public:
  Foo();
  virtual ~Foo() {}
  void run(int x);
  int get() const { return x_; }
  struct Inner { int q; };
  static int count;
 private:
  int x_ = 0, y_;
  enum Color { RED };
};
template <typename T> void Foo<T>::run(int x) {}
int Foo::Inner::go() { return 1; }
Foo::Foo() : x_(1) {}
bool operator==(const Foo& a, const Foo& b) { return true; }
}
enum class E : int { A, B };
typedef struct { int a; } pt_t;
typedef struct node { int v; } node_t;
using Vec = std::vector<int>;
struct P { int a; };
union U { int a; };
static const int kMax = 3;
int* freefn(int a) { return 0; }
int proto(int a);
#define MACRO(x) x
#define CONST 3
extern int g;
char *tab[] = {0};
void (*fp)(int);
