require 'x'
# doc
module Foo
  MAX = 3
  # Bar doc
  class Bar < Base::Thing
    include Comparable
    extend Foo::Ext, Q
    attr_accessor :name, :other
    Z = Struct.new(:a)
    def initialize(a); @a = a; end
    def self.make; end
    class << self
      def inner_s; end
    end
    private
    def priv?; end
    alias_method :x, :y
    scope :active, -> { }
  end
  class Foo::Q::R; end
  def self.modfn; end
end
def top!; end
describe "Thing" do
  it "works" do
  end
end
task :build do
end
