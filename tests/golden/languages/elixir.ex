defmodule Foo.Bar do
  @moduledoc "doc"
  use GenServer
  alias Foo.Baz
  alias Foo.{A, B}
  import Foo.C
  @behaviour Foo.Beh
  @max 3
  defstruct [:a, :b]
  @doc """
  runs
  """
  @spec run(integer) :: any
  def run(a) when a > 1 do
    1
  end
  def run(a), do: 2
  def noargs do
  end
  defp priv(x, y) do end
  defmacro mac(x) do end
  defguard is_x(a) when a
  defdelegate del(x), to: Y
  @callback cb(integer) :: any
  defmodule Inner do
    def q, do: 1
  end
end
defprotocol Size do
  def size(d)
end
defimpl Size, for: BitString do
  def size(d), do: 1
end
test "works" do
end
