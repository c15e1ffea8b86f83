let hooksForTests = [];
let endsForTests = [];
let queueForTests = Promise.resolve();
let hasFailedForTests = false;
function describe(_title, body) {
  const [hooks, ends] = [hooksForTests, endsForTests];
  [hooksForTests, endsForTests] = [[...hooks], [...ends]];
  body();
  [hooksForTests, endsForTests] = [hooks, ends];
}
function test(_title, body) {
  const steps = [hooksForTests, [body], endsForTests];
  queueForTests = queueForTests.then(async () => {
    try {
      for (const step of steps.flat()) await step();
    } catch (error) {
      hasFailedForTests = true;
      console.error(error);
    }
  });
}
// Timers of the submission may go on.
const endForTests = () => queueForTests.then(() => process.exit(hasFailedForTests ? 1 : 0));
const [it, xit, xtest, xdescribe] = [test, test, test, describe];
const beforeEach = (hook) => hooksForTests.push(hook);
const afterEach = (hook) => endsForTests.push(hook);
function thrownForTests(body) {
  try {
    body();
  } catch (error) {
    return String(error?.message ?? error);
  }
  return "";
}
function kindThrownForTests(body, kind) {
  try {
    body();
  } catch (error) {
    return error instanceof kind ? kind.name : String(error?.constructor?.name);
  }
  return "nothing";
}
const namesForTests = (module) => module.exportsForTests ?? module;
// As if properties without a value were not there.
function definedForTests(value) {
  if (Array.isArray(value)) return value.map(definedForTests);
  if (Object.prototype.toString.call(value) !== "[object Object]") return value;
  const items = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(items.map(([key, each]) => [key, definedForTests(each)]));
}
