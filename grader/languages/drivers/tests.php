abstract class TestCaseForTests
{
    public static function setUpBeforeClass(): void {}

    protected function setUp(): void {}

    protected function tearDown(): void {}

    public static bool $hasFailed = false;

    public static function runForTests(): void
    {
        static::setUpBeforeClass();
        foreach (get_class_methods(static::class) as $name) {
            if (str_starts_with($name, 'test')) {
                try {
                    $each = new static();
                    $each->setUp();
                    $each->$name();
                    $each->tearDown();
                } catch (\Throwable $error) {
                    self::$hasFailed = true;
                    fwrite(STDERR, "PHP Fatal error:  Uncaught $error\n");
                }
            }
        }
    }
}

// PHPUnit takes a number and its text for equal, and arrays whatever the order of their keys.
function looseForTests($value)
{
    if (is_float($value)) {
        $whole = floor($value) === $value && abs($value) < 1e15;
        return $whole ? sprintf('%d', $value) : var_export($value, true);
    }
    if (is_int($value)) {
        return (string) $value;
    }
    if (is_array($value)) {
        ksort($value);
        return array_map('looseForTests', $value);
    }
    return $value;
}

function kindForTests($thrown, string $kind): string
{
    return $thrown instanceof $kind ? $kind : get_debug_type($thrown);
}

function messageForTests($thrown): string
{
    return $thrown === null ? '' : $thrown->getMessage();
}
