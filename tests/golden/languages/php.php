<?php
namespace App\Web;
use App\Base\Model;
use App\{A, B as C};
use function x\y;
/** doc */
#[Attr]
abstract class User extends Model implements \JsonSerializable, HasName {
    use SoftDeletes, Notifiable;
    const MAX = 3;
    public ?string $name = null, $b;
    public function __construct(private int $x) {}
    /** d */
    public static function find(int $a): self { $f = function() {}; }
}
interface HasName extends X, Y { public function name(); }
trait T { public function t() {} }
enum Suit: string implements E { case Hearts = 'H'; public function l() {} }
function helper() {}
const Q = 1;
define('W', 2);
$x = new class extends B {};
