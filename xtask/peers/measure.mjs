// Measures one case on one job system and prints the result as a line of JSON. All adapters in JavaScript use it; the
// programs for Tenure and Awa measure the same in Rust.
//
// `node ADAPTER.mjs CASE` with PEER_URL, and PEER_PLAN = { seconds, callers, batch, batchCallers, jobs, samples, slots }.

const plan = JSON.parse(process.env.PEER_PLAN);
const text = "x".repeat(180);

/**
 * `system`: `open(url, plan)`, `add(payload)`, `addMany(payloads)`, `work(handler)`, `close()`. `add` and `addMany` resolve when the
 * jobs are as durable as the system makes them. `work` starts one worker with `plan.slots` slots. Each run has its own queue,
 * so that jobs of other runs do not count.
 */
export async function measure(system) {
  await system.open(process.env.PEER_URL, plan);
  const result = await cases[process.argv[2]](system);
  console.log(JSON.stringify(result));
  await system.close();
  process.exit(0);
}

const cases = { enqueue, steady, drain, bulk, idle };

/** One caller that adds one job after the other. */
async function enqueue(system) {
  const start = performance.now();
  let jobs = 0;
  for (; performance.now() - start < plan.seconds * 1000; jobs++) await system.add({ n: jobs, text });
  return rate(jobs, start);
}

/** Many callers that add single jobs, and a worker; until every job is handled. */
function steady(system) {
  return endToEnd(system, plan.callers, 1);
}

/** A few callers that add batches of jobs, and a worker; until every job is handled. */
function bulk(system) {
  return endToEnd(system, plan.batchCallers, plan.batch);
}

async function endToEnd(system, callers, batch) {
  let [added, handled] = [0, 0];
  const finished = waiter();
  let open = true;
  const check = () => { if (!open && handled >= added) finished.resolve(); };
  await system.work(() => { handled++; check(); });
  const start = performance.now();
  const caller = async () => {
    while (performance.now() - start < plan.seconds * 1000) {
      const payloads = Array.from({ length: batch }, () => ({ text }));
      if (batch === 1) await system.add(payloads[0]);
      else await system.addMany(payloads);
      added += batch;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  open = false;
  check();
  await finished.promise;
  return rate(added, start);
}

/** A worker that starts beside many waiting jobs. */
async function drain(system) {
  for (let n = 0; n < plan.jobs; n += 1000) {
    await system.addMany(Array.from({ length: Math.min(1000, plan.jobs - n) }, () => ({ text })));
  }
  let handled = 0;
  const finished = waiter();
  const start = performance.now();
  await system.work(() => { if (++handled === plan.jobs) finished.resolve(); });
  await finished.promise;
  return rate(plan.jobs, start);
}

/** The time from the call that adds a job to its handler, one job at a time. */
async function idle(system) {
  let arrived = waiter();
  await system.work(() => arrived.resolve(performance.now()));
  const spans = [];
  for (let n = 0; n < plan.samples; n++) {
    arrived = waiter();
    const start = performance.now();
    await system.add({ n });
    spans.push((await arrived.promise) - start);
  }
  spans.sort((a, b) => a - b);
  const at = (share) => spans[Math.min(spans.length - 1, Math.floor(spans.length * share))];
  return { p50_ms: at(0.5), p99_ms: at(0.99) };
}

function rate(jobs, start) {
  return { rate: jobs / ((performance.now() - start) / 1000) };
}

function waiter() {
  let resolve;
  const promise = new Promise((done) => { resolve = done; });
  return { promise, resolve };
}
