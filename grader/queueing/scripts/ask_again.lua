#!lua flags=allow-oom
-- Have the clients submit a job again whose suite is gone.
-- Arguments: worker, token, key.
if is_held(args.key, args.token) then
  answer(redis.call('HGET', KEY.JOB .. args.key, 'waiters'), args.key, ANSWER.AGAIN, '')
  forget(args.key)
end
