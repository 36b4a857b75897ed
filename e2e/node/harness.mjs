// Starts the scripted provider and the gateways, and asks them through the official client.
// It decides nothing about what is right: that is the tests' part. Every wait here has a limit.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';
import OpenAI from 'openai';

const E2E = path.resolve(import.meta.dirname, '..');
const BINARY = process.env.CALLGATE_BIN ?? path.resolve(E2E, '../target/debug/callgate');
const START_MS = 20_000;
const REQUEST_MS = 30_000;

export const DIALECTS = ['xml', 'ctl-heredoc', 'native'];
export const TEXT_DIALECTS = ['xml', 'ctl-heredoc'];

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** One running `callgate`, from its `listening on` line to its end. */
export async function start(...args) {
  if (!existsSync(BINARY)) {
    throw new Error(`${BINARY} does not exist: run \`cargo xtask e2e\`, or set CALLGATE_BIN`);
  }
  const child = spawn(BINARY, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const said = [];
  const ended = new Promise((resolve) => child.once('exit', resolve));
  ended.then(() => running.delete(child));
  const url = await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`callgate ${args.join(' ')}: ${why}; it said:\n${said.join('\n')}`));
    const timer = setTimeout(() => fail(`not listening within ${START_MS} ms`), START_MS);
    const read = (line) => {
      if (said.length < 2000) said.push(line);
      const found = line.match(/listening on (\S+?)\/?(\s|$)/);
      if (found) {
        clearTimeout(timer);
        resolve(found[1]);
      }
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', read);
    ended.then((code) => fail(`ended with ${code}`));
  });
  return {
    url,
    async get(where) {
      const reply = await fetch(url + where, { signal: AbortSignal.timeout(REQUEST_MS) });
      return reply.json();
    },
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The scripted provider with all scripts, and a gateway for each dialect. */
export async function startAll() {
  const folder = path.join(E2E, 'scripts');
  const scripts = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.toml')).sort();
  const provider = await start('script', ...scripts.map((name) => path.join(folder, name)), '--listen', '127.0.0.1:0');
  const gateways = {};
  for (const dialect of DIALECTS) {
    gateways[dialect] = await start(
      'serve', '--upstream', `${provider.url}/v1`, '--wire', 'chat', '--dialect', dialect, '--listen', '127.0.0.1:0',
    );
  }
  return {
    provider,
    /** The official client; it never repeats a request, so that a test sees each failure. */
    client: (dialect) =>
      new OpenAI({ baseURL: `${gateways[dialect].url}/v1`, apiKey: 'e2e', maxRetries: 0, timeout: REQUEST_MS }),
    /** How many replies were left before their end. */
    cancelled: async () => (await provider.get('/cancelled')).cancelled,
    async stop() {
      await Promise.all([...Object.values(gateways), provider].map((server) => server.stop()));
    },
  };
}

/** Waits for the condition. */
export async function until(what, ms, condition) {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
