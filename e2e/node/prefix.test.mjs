// Every client API over every provider API: the provider's body breaks, or comes in other pieces.
// The official clients read what the gateway makes of it. The bodies are in `e2e/scripts/prefix`, what
// they mean is in `e2e/prefix`; the scripted provider breaks them where the model's name says.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import path from 'node:path';

import { E2E, REQUEST_MS, WIRES, start, startProvider } from './harness.mjs';
import { CLIENTS, KINDS, PATHS, checkCall, placesOf, read } from './prefix.mjs';

const FULL = Boolean(process.env.CALLGATE_E2E_FULL);
const SEED = 20261201;
/** Random places in each body, besides those that matter. */
const RANDOM = 3;
/** How many replies are asked for at once. */
const AT_ONCE = 8;
/** What a reply is that broke: in text, in a call, in a whole body. */
const CODES = ['UPSTREAM_ENDED_EARLY', 'TOOL_CALL_TRUNCATED', 'UPSTREAM_PROTOCOL'];

let provider;
let gateway;
before(async () => {
  provider = await startProvider();
  process.env.PREFIX_PROVIDER = provider.url;
  gateway = await start('serve', '--config', path.join(E2E, 'prefix/gateway.toml'), '--listen', '127.0.0.1:0');
});
after(async () => {
  await gateway?.stop();
  await provider?.stop();
});

/** The name of the model that sends such a body, through a gateway with that policy. */
const model = (release, wire, kind, query = '') => `${release}/${wire}/${KINDS[kind].dialect}/${kind}${query}`;

/** What the provider sends, without a gateway. */
async function bodyOf(wire, kind, stream) {
  const body = JSON.stringify({ model: `prefix/${wire}/${kind}`, stream, messages: [] });
  const signal = AbortSignal.timeout(REQUEST_MS);
  const reply = await fetch(provider.url + PATHS[wire], { method: 'POST', body, signal });
  assert.equal(reply.status, 200);
  return Buffer.from(await reply.arrayBuffer());
}

/** Numbers below a bound, the same for the same word: xorshift. */
function random(word) {
  let state = [...word].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) | 0, SEED) || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

/** The reply is a success, and all of it is there. */
function checkWhole(seen, client, expected) {
  assert.equal(seen.error, undefined);
  assert.equal(seen.end, client.ends[Number(expected.calls.length > 0)]);
  assert.equal(seen.text, expected.text);
  assert.equal(seen.reasoning, expected.reasoning);
  assert.equal(seen.opened.length, expected.calls.length);
  assert.equal(seen.finished.length, expected.calls.length);
  seen.finished.forEach((call, index) => checkCall(call, expected.calls[index]));
}

/** What came is the beginning of the whole, and no call is half there. */
function checkBeginning(seen, expected) {
  assert.ok(expected.reasoning.startsWith(seen.reasoning));
  if (seen.text.length <= expected.text.length) assert.ok(expected.text.startsWith(seen.text));
  else {
    // A call in text that broke stays the model's own text; a complete one before it does not.
    assert.ok(seen.text.startsWith(expected.text));
    assert.ok(expected.said?.includes(seen.text.slice(expected.text.length)));
  }
  assert.ok(seen.finished.length <= seen.opened.length && seen.opened.length <= expected.calls.length);
  for (const calls of [seen.opened, seen.finished]) calls.forEach((call, index) => checkCall(call, expected.calls[index]));
}

/** The reply is an error; only calls that went out before the break end it as their success. */
function checkBroken(seen, client, release, expected) {
  checkBeginning(seen, expected);
  if (seen.error === undefined) {
    assert.equal(release, 'call', 'a success that nobody said');
    assert.equal(seen.end, client.ends[1]);
    assert.ok(seen.finished.length > 0 && seen.finished.length === seen.opened.length);
    return;
  }
  assert.ok(CODES.includes(seen.error), seen.error);
  assert.equal(seen.end, undefined);
  assert.equal(seen.final, undefined);
  // An event of a stream has no status of its own.
  assert.ok([undefined, 200, 502].includes(seen.status), `${seen.status}`);
  assert.deepEqual(seen.opened, [], 'calls before an error');
}

/** Runs a check; its failure names the place and what was seen. */
function at(place, seen, check) {
  try {
    check();
  } catch (error) {
    throw new Error(`${place}: ${error.message}\n${JSON.stringify(seen)}`, { cause: error });
  }
}

/** Runs the check for each, several at a time: a reply that breaks is mostly waited for. */
async function atOnce(tries, check) {
  const left = tries.values();
  const work = async () => {
    for (const one of left) await check(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

const upTo = (length) => Array.from({ length: length + 1 }, (_, place) => place);
const sorted = (places) => [...new Set(places)].sort((left, right) => left - right);
const timeout = FULL ? 600_000 : 60_000;

for (const api of Object.keys(CLIENTS)) {
  for (const wire of WIRES) {
    describe(`${api} over ${wire}`, () => {
      let client;
      before(() => {
        client = CLIENTS[api](gateway.url);
      });
      for (const [kind, expected] of Object.entries(KINDS)) {
        test(`a broken stream: ${kind}`, { timeout }, async () => {
          const body = await bodyOf(wire, kind, true);
          const isCall = expected.calls.length > 0 && expected.dialect === 'native';
          const { may, must, said, tried } = placesOf(body, isCall ? 'call' : 'text');
          const below = random(`${api} ${wire} ${kind}`);
          for (let left = RANDOM; left > 0; left--) tried.push(below(body.length));
          const tries = [];
          for (const place of FULL ? upTo(body.length) : sorted(tried)) {
            const ways = below(2) ? ['helper', 'raw'] : ['raw', 'helper'];
            const both = ['turn', 'call'].map((release, index) => {
              const query = `?${below(10) < 7 ? 'cut' : 'end'}=${place}`;
              return { place, release, way: ways[index], asked: model(release, wire, kind, query) };
            });
            tries.push(...(FULL ? [both[below(2)]] : both));
          }
          await atOnce(tries, async ({ place, release, way, asked }) => {
            const seen = await read((seen) => client[way](asked, seen));
            at(`${asked}, ${way}`, seen, () => {
              const isWhole = seen.end && seen.finished.length === expected.calls.length;
              if (place >= must || (place >= may && isWhole)) return checkWhole(seen, client, expected);
              checkBroken(seen, client, release, expected);
              const texts = said(place);
              if (expected.dialect === 'native') {
                assert.ok(texts.includes(seen.text), 'text is lost');
                assert.ok(!seen.text || seen.reasoning === expected.reasoning, 'reasoning is lost');
              } else if (texts.every((text) => text.startsWith(expected.text))) {
                assert.ok(seen.text.startsWith(expected.text), 'text is lost');
                if (release === 'turn' && kind === 'xml' && !texts.includes(expected.said)) {
                  // The block is one: without its end it is text, to the last byte.
                  assert.ok(texts.includes(seen.text), 'text of a broken block is lost');
                }
              }
            });
          });
        });

        test(`a stream in pieces: ${kind}`, { timeout }, async () => {
          const tries = [
            ['turn', 'helper', ''],
            ['turn', 'helper', '?pieces=1'],
            ['call', 'raw', `?pieces=90&seed=${SEED}`],
          ];
          for (const most of FULL ? [2, 9, 400] : []) {
            for (const seed of upTo(8)) {
              tries.push(['turn', 'raw', `?pieces=${most}&seed=${seed}`], ['call', 'helper', `?pieces=${most}&seed=${seed}`]);
            }
          }
          const finals = [];
          for (const [release, way, query] of tries) {
            const asked = model(release, wire, kind, query);
            const seen = await read((seen) => client[way](asked, seen));
            at(`${asked}, ${way}`, seen, () => checkWhole(seen, client, expected));
            if (seen.final) finals.push(seen.final);
          }
          assert.ok(finals.length > 1);
          for (const final of finals) assert.deepEqual(final, finals[0]);
        });

        test(`a broken whole reply: ${kind}`, { timeout }, async () => {
          const { length } = await bodyOf(wire, kind, false);
          const below = random(`${api} ${wire} ${kind}`);
          const some = sorted([0, length - 2, length - 1, length, below(length), below(length), below(length)]);
          await atOnce(FULL ? upTo(length) : some, async (place) => {
            const asked = model(place % 2 ? 'call' : 'turn', wire, kind, `?cut=${place}`);
            const seen = await read((seen) => client.whole(asked, seen));
            at(asked, seen, () => {
              if (place === length) return checkWhole(seen, client, expected);
              assert.equal(seen.status, 502);
              checkBroken(seen, client, 'turn', expected);
              assert.deepEqual([seen.text, seen.opened], ['', []]);
            });
          });
          const asked = model('turn', wire, kind, `?pieces=7&seed=${SEED}`);
          const seen = await read((seen) => client.whole(asked, seen));
          at(asked, seen, () => checkWhole(seen, client, expected));
        });
      }
    });
  }
}
