module Minitest
  class Test
    ORDER = []
    def self.method_added(name)
      ORDER << [self, name] if name.start_with?("test_")
    end
    def setup = nil
    def teardown = nil
    def skip(*) = nil
  end
end
def thrown_for_tests(body)
  body.call
  nil
rescue StandardError => error
  error
end
def kind_for_tests(error, kind) = kind === error ? kind.name : error.class.name
at_exit do
  has_failed = false
  Minitest::Test::ORDER.each do |kind, name|
    test = kind.new
    test.setup
    test.public_send(name)
    test.teardown
  rescue StandardError, ScriptError, SystemStackError => error
    has_failed = true
    warn error.full_message(highlight: false, order: :top)
  end
  exit 1 if has_failed
end
