// Starts the scripted provider and the gateways, and asks them through the official client.
// It decides nothing about what is right: that is the tests' part. Every wait here has a limit.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

export const E2E = path.resolve(import.meta.dirname, '..');
const BINARY = process.env.CALLGATE_BIN ?? path.resolve(E2E, '../target/debug/callgate');
const START_MS = 20_000;
export const REQUEST_MS = 30_000;

export const DIALECTS = ['xml', 'ctl-heredoc', 'native'];
export const TEXT_DIALECTS = ['xml', 'ctl-heredoc'];

/** The APIs that a gateway in front of another gateway has for its provider's. */
const RELAYED = ['responses', 'messages'];
/** All APIs of providers. */
export const WIRES = ['chat', ...RELAYED];

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

/** The scripted provider with all scripts. */
export function startProvider() {
  const folder = path.join(E2E, 'scripts');
  const scripts = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.toml')).sort();
  return start('script', ...scripts.map((name) => path.join(folder, name)), '--listen', '127.0.0.1:0');
}

/** The scripted provider, and for each API of a provider a gateway of each dialect. */
export async function startAll() {
  const provider = await startProvider();
  const serve = (url, wire, ...rest) =>
    start('serve', '--upstream', `${url}/v1`, '--wire', wire, ...rest, '--listen', '127.0.0.1:0');
  const gateways = { chat: {} };
  for (const dialect of DIALECTS) gateways.chat[dialect] = await serve(provider.url, 'chat', '--dialect', dialect);
  for (const wire of RELAYED) {
    gateways[wire] = {};
    for (const dialect of DIALECTS) gateways[wire][dialect] = await serve(gateways.chat[dialect].url, wire);
  }
  const cancelled = async () => (await provider.get('/cancelled')).cancelled;
  // The clients never repeat a request, so that a test sees each failure.
  const options = { apiKey: 'e2e', maxRetries: 0, timeout: REQUEST_MS };
  return {
    provider,
    /** The official client of Chat Completions and Responses. */
    client: (dialect, wire = 'chat') => new OpenAI({ baseURL: `${gateways[wire][dialect].url}/v1`, ...options }),
    /** The official client of Messages. */
    messages: (dialect, wire = 'chat') => new Anthropic({ baseURL: gateways[wire][dialect].url, ...options }),
    /** What the scripted provider writes as arguments of the first call, without a gateway. */
    async written(model) {
      const direct = new OpenAI({ baseURL: `${provider.url}/v1`, ...options });
      const reply = await direct.chat.completions.create({ model, messages: [{ role: 'user', content: 'Begin.' }] });
      return reply.choices[0].message.tool_calls[0].function.arguments;
    },
    /** The bodies of the requests that hold the mark, as the scripted provider saw them, oldest first. */
    requests: async (mark) =>
      (await provider.get('/requests')).filter(({ body }) => body.includes(mark)).map(({ body }) => JSON.parse(body)),
    /** How many replies were left before their end. */
    cancelled,
    /** The same, once nothing of an earlier test is still being counted. */
    async settled() {
      let seen = -1;
      await until('earlier tests are counted', 5000, async () => {
        const before = seen;
        seen = await cancelled();
        await new Promise((resolve) => setTimeout(resolve, 200));
        return seen === before;
      });
      return seen;
    },
    async stop() {
      const served = Object.values(gateways).flatMap((servers) => Object.values(servers));
      await Promise.all([...served, provider].map((server) => server.stop()));
    },
  };
}

/** The error that the promise ends in; one that gives a value is a failed test. */
export async function failure(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`no error, but ${JSON.stringify(value)?.slice(0, 500)}`);
}

/** A word that finds a test's requests among all that the provider saw. */
export const newMark = () => `mark-${randomUUID().slice(0, 12)}`;

/** Waits for the condition. */
export async function until(what, ms, condition) {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
