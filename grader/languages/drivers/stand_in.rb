class StandInForTests < BasicObject
  def method_missing(*) = self
  def respond_to_missing?(*) = true
  def to_s = ""
end
{names}.each do |name|
  Object.const_set(name, StandInForTests.new) unless Object.const_defined?(name)
end
