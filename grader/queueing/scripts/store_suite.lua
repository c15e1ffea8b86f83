#!lua
-- Store a suite for the workers.
-- Arguments: digest. ARGV[2] is the suite.
if is_full() then return FULL end
keep_suite(args.digest, args.keep_ms)
return redis.call('SET', KEY.SUITE .. args.digest, ARGV[2], 'PX', args.keep_ms)
