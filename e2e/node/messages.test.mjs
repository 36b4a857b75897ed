// The Messages API through its official JavaScript client, over providers of every API.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';

import { DIALECTS, TEXT_DIALECTS, WIRES, failure, newMark, startAll, until } from './harness.mjs';
import { LONG, PIXEL, RESULT, TOOLS } from './tools.mjs';

/** The same tools as this API declares them. */
const DECLARED = TOOLS.map(({ function: { name, description, parameters } }) => ({
  name, description, input_schema: parameters,
}));

let all;
before(async () => {
  all = await startAll();
});
after(async () => {
  await all?.stop();
});

/** The turn that the function reads; an error of the API is part of it, with what came before. */
async function turnOf(read) {
  const turn = { kinds: [] };
  try {
    await read(turn);
  } catch (error) {
    if (!(error instanceof Anthropic.APIError)) throw error;
    turn.error = error;
  }
  return turn;
}

/** What a client gets of one reply in three ways: by events, by the streaming helper, or whole. */
const WAYS = {
  stream: (api, request) =>
    turnOf(async (turn) => fold(await api.messages.create({ stream: true, ...request }), turn)),
  helper: (api, request) =>
    turnOf(async (turn) => {
      const stream = api.messages.stream(request);
      const blocks = [];
      stream.on('streamEvent', (event) => turn.kinds.push(event.type));
      stream.on('contentBlock', (block) => blocks.push(block));
      const message = await stream.finalMessage();
      assert.deepEqual(blocks, message.content);
      turn.message = message;
    }),
  whole: (api, request) =>
    turnOf(async (turn) => {
      turn.message = await api.messages.create(request);
    }),
};

/** Reads a stream, checking what holds for every event of every stream. */
async function fold(events, turn) {
  const inputs = [];
  let message;
  let open = null;
  for await (const event of events) {
    turn.kinds.push(event.type);
    assert.equal(event.type === 'message_start', turn.kinds.length === 1, `${event.type} in the wrong place`);
    assert.notEqual(turn.kinds.at(-2), 'message_stop', `${event.type} behind the end`);
    if (event.type === 'message_start') {
      message = event.message;
      assert.deepEqual([message.content, message.stop_reason], [[], null]);
    } else if (event.type === 'content_block_start') {
      assert.equal(open, null, 'a block begins in another one');
      assert.equal(event.index, message.content.length, 'blocks are not numbered in order');
      open = event.index;
      message.content.push(event.content_block);
      inputs.push('');
    } else if (event.type === 'content_block_delta') {
      assert.equal(event.index, open);
      if (event.delta.type === 'text_delta') message.content[open].text += event.delta.text;
      else if (event.delta.type === 'input_json_delta') inputs[open] += event.delta.partial_json;
      else if (event.delta.type === 'thinking_delta') message.content[open].thinking += event.delta.thinking;
      else if (event.delta.type === 'signature_delta') message.content[open].signature = event.delta.signature;
      else assert.fail(`a delta of type ${event.delta.type}`);
    } else if (event.type === 'content_block_stop') {
      assert.equal(event.index, open);
      const block = message.content[open];
      if (block.type === 'tool_use') block.input = JSON.parse(inputs[open]);
      open = null;
    } else if (event.type === 'message_delta') {
      assert.equal(open, null, 'the end comes inside a block');
      assert.ok(event.delta.stop_reason);
      Object.assign(message, event.delta);
      Object.assign(message.usage, event.usage);
    }
  }
  assert.deepEqual(turn.kinds.slice(-2), ['message_delta', 'message_stop']);
  turn.message = message;
  turn.inputs = inputs;
}

const textOf = ({ message }) =>
  message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
const callsOf = ({ message }) => message.content.filter((block) => block.type === 'tool_use');

/** A turn that ended well, with what holds for each. */
function good(turn) {
  assert.equal(turn.error, undefined, `${turn.error?.message}`);
  const { message } = turn;
  assert.deepEqual([message.type, message.role], ['message', 'assistant']);
  assert.ok(message.id && message.model);
  assert.ok(message.usage.output_tokens >= 0 && message.usage.input_tokens >= 0);
  const calls = callsOf(turn);
  assert.equal(new Set(calls.map((call) => call.id)).size, calls.length);
  if (calls.length > 0) assert.equal(message.stop_reason, 'tool_use');
  return turn;
}

const user = (content) => [{ role: 'user', content }];

for (const wire of WIRES) {
  for (const dialect of DIALECTS) {
    describe(`${dialect} over ${wire}`, () => {
      const api = () => all.messages(dialect, wire);
      for (const [way, take] of Object.entries(WAYS)) {
        const ask = (request) => take(api(), { max_tokens: 1024, tools: DECLARED, ...request });
        const named = (name) => `${name}, ${way}`;

        test(named('call, result, answer'), async () => {
          const mark = newMark();
          const history = user(`How is the weather in Zürich? (${mark})`);
          const request = { model: `${dialect}/weather`, system: 'Answer briefly.' };
          const first = good(await ask({ messages: history, ...request }));
          assert.deepEqual([textOf(first).trim(), first.message.stop_reason], ['Let me look.', 'tool_use']);
          const [call, ...others] = callsOf(first);
          assert.deepEqual(others, []);
          assert.deepEqual([call.name, call.input], ['get_weather', { city: 'Zürich', days: 2 }]);
          history.push({ role: 'assistant', content: first.message.content });
          history.push(...user([{ type: 'tool_result', tool_use_id: call.id, content: RESULT }]));
          const second = good(await ask({ messages: history, ...request }));
          assert.deepEqual([textOf(second), second.message.stop_reason], ['It is 21 degrees in Zürich.', 'end_turn']);
          assert.deepEqual(callsOf(second), []);
          const sent = await all.requests(mark);
          assert.equal(sent.length, 2);
          const everything = JSON.stringify(sent[1]);
          for (const word of ['Answer briefly.', 'get_weather', 'clear < cloudy & \u{1f324}']) {
            assert.ok(everything.includes(word), `the provider is not sent ${word}`);
          }
          assert.equal('tools' in sent[1], dialect === 'native');
        });

        test(named('two calls and two results'), async () => {
          const mark = newMark();
          const history = user(mark);
          const first = good(await ask({ model: `${dialect}/two`, messages: history }));
          const calls = callsOf(first);
          assert.deepEqual(calls.map((call) => [call.name, call.input]), [
            ['get_weather', { city: 'Bern' }],
            ['get_weather', { city: 'Basel', days: 3 }],
          ]);
          history.push({ role: 'assistant', content: first.message.content });
          const results = calls.map((call, number) => ({
            type: 'tool_result',
            tool_use_id: call.id,
            is_error: number === 1,
            content: [{ type: 'text', text: `result-${number}` }],
          }));
          history.push(...user([...results, { type: 'text', text: 'Go on.' }]));
          const second = good(await ask({ model: `${dialect}/two`, messages: history }));
          assert.notEqual(textOf(second), '');
          const sent = JSON.stringify((await all.requests(mark)).at(-1).messages);
          const places = ['result-0', 'result-1', 'Go on.'].map((word) => sent.indexOf(word));
          assert.ok(places[0] >= 0 && places[0] < places[1] && places[1] < places[2], `${places}`);
        });

        for (const [name, code] of [
          ['truncated', 'TOOL_CALL_TRUNCATED'],
          ['unknown', 'CLIENT_TOOL_NAME_MISMATCH'],
          ['bad-args', 'CLIENT_TOOL_ARGS_INVALID'],
          ['early', 'UPSTREAM_ENDED_EARLY'],
          ['empty', 'EMPTY_ASSISTANT_RESPONSE'],
        ]) {
          test(named(`${code} delivers no call`), async () => {
            const started = [];
            const { message, error, kinds } = await turnOf(async (turn) => {
              const request = { model: `${dialect}/${name}`, messages: user('Begin.') };
              if (way === 'stream') {
                // Each block that begins is noted, so that even half a call is seen.
                const stream = await api().messages.create({ stream: true, max_tokens: 1024, tools: DECLARED, ...request });
                for await (const event of stream) {
                  turn.kinds.push(event.type);
                  if (event.type === 'content_block_start') started.push(event.content_block.type);
                }
              } else {
                Object.assign(turn, await ask(request));
              }
            });
            assert.ok(error);
            assert.equal(message, undefined);
            assert.deepEqual(started.filter((type) => type === 'tool_use'), []);
            assert.ok(!kinds.includes('message_stop'));
            assert.equal(error.status, way === 'whole' || kinds.length === 0 ? 502 : undefined);
            assert.deepEqual([error.error.type, error.error.error.type, error.type], ['error', 'api_error', 'api_error']);
            // Which fault it was, only the gateway knows that found it.
            if (wire === 'chat') assert.equal(error.error.error.code, code);
          });
        }

        if (TEXT_DIALECTS.includes(dialect)) {
          test(named('length inside a call: max_tokens, no call'), async () => {
            const turn = good(await ask({ model: `${dialect}/length`, messages: user('Begin.') }));
            assert.deepEqual([turn.message.stop_reason, callsOf(turn)], ['max_tokens', []]);
          });
        }

        test(named('a choice that is not met'), async () => {
          const { error, message } = await ask({
            model: `${dialect}/hello`, tool_choice: { type: 'any' }, messages: user('Begin.'),
          });
          assert.equal(message, undefined);
          assert.match(`${error?.message}`, /tool/i);
        });
      }

      test('images reach the provider', async () => {
        const mark = newMark();
        const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
        const content = [{ type: 'text', text: mark }, image];
        const request = { model: `${dialect}/hello`, max_tokens: 1024, tools: DECLARED, messages: user(content) };
        good(await WAYS.whole(api(), request));
        const [sent] = await all.requests(mark);
        const parts = sent.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
        assert.deepEqual(
          parts.filter((part) => part.type === 'image_url').map((part) => part.image_url.url),
          [`data:image/png;base64,${PIXEL}`],
        );
      });

      const hang = { model: `${dialect}/hang`, max_tokens: 1024, tools: DECLARED, messages: user('Begin.') };

      test('text arrives while the provider writes; leaving cancels it', async () => {
        const before = await all.settled();
        let text = '';
        for await (const event of await api().messages.create({ ...hang, stream: true })) {
          if (event.type === 'content_block_delta') text += event.delta.text;
          if (text === 'Working on it.') break;
        }
        assert.equal(text, 'Working on it.');
        await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
      });

      test('aborting the streaming helper cancels the provider', async () => {
        const before = await all.settled();
        const stream = api().messages.stream(hang);
        stream.on('text', (_, text) => text === 'Working on it.' && stream.abort());
        const error = await failure(stream.finalMessage());
        assert.ok(error instanceof Anthropic.APIUserAbortError, `${error}`);
        await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
      });

      test('leaving before a whole reply cancels the provider', async () => {
        const before = await all.settled();
        const error = await failure(api().messages.create(hang, { timeout: 1000 }));
        assert.ok(error instanceof Anthropic.APIConnectionTimeoutError, `${error}`);
        await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
      });
    });
  }

  for (const [way, take] of Object.entries(WAYS)) {
    test(`reasoning, text and a call over ${wire}, ${way}: each is a block, and they come back`, async () => {
      const history = user('Begin.');
      const request = { model: 'native/thinking', max_tokens: 2048, tools: DECLARED, messages: history };
      const ask = async () => good(await take(all.messages('native', wire), request));
      const { message } = await ask();
      assert.equal(message.stop_reason, 'tool_use');
      assert.deepEqual(message.content.map((block) => block.type), ['thinking', 'text', 'tool_use']);
      const [thinking, , call] = message.content;
      assert.equal(thinking.thinking, 'The user wants < the weather > of Zürich.');
      assert.deepEqual(call.input, { city: 'Zürich', days: 2 });
      history.push({ role: 'assistant', content: message.content });
      history.push(...user([{ type: 'tool_result', tool_use_id: call.id, content: RESULT }]));
      assert.equal(textOf(await ask()), 'It is 21 degrees in Zürich.');
    });

    test(`arguments over ${wire} are what was written, ${way}`, async () => {
      const request = { model: 'native/layout', max_tokens: 1024, tools: DECLARED, messages: user('Begin.') };
      const turn = good(await take(all.messages('native', wire), request));
      const written = await all.written('native/layout');
      assert.deepEqual(callsOf(turn).map((call) => call.input), [JSON.parse(written)]);
      // Streamed, even their text is; a whole reply of this API has only their value.
      if (way === 'stream') assert.deepEqual(turn.inputs, [written]);
    });
  }

  test(`a megabyte of argument over ${wire} arrives as it was written`, async () => {
    const request = { model: 'xml/long', max_tokens: 1_000_000, tools: DECLARED, messages: user('Begin.') };
    const message = await all.messages('xml', wire).messages.stream(request, { timeout: 100_000 }).finalMessage();
    const [{ input }] = callsOf(good({ message }));
    assert.equal(input.path, 'a');
    assert.ok(input.content === LONG, `${input.content.length} characters, or other ones`);
  });

  test(`tokens are counted over ${wire}`, async () => {
    const count = async (text) =>
      (await all.messages('native', wire).messages.countTokens({ model: 'native/hello', tools: DECLARED, messages: user(text) }))
        .input_tokens;
    const [short, long] = [await count('Begin.'), await count('Begin. '.repeat(100))];
    assert.ok(0 < short && short < long, `${short} and ${long} tokens`);
  });
}

test('a result without its call is named', async () => {
  const messages = user([{ type: 'tool_result', tool_use_id: 'toolu_x', content: '?' }]);
  const error = await failure(all.messages('native').messages.create({ model: 'native/hello', max_tokens: 10, messages }));
  assert.ok(error instanceof Anthropic.BadRequestError, `${error}`);
  assert.match(error.message, /toolu_x/);
  assert.equal(error.error.error.type, 'invalid_request_error');
});

test('a rate limit comes with its wait', async () => {
  const request = { model: 'fault/429', max_tokens: 10, messages: user('Begin.'), stream: true };
  const error = await failure(all.messages('xml').messages.create(request));
  assert.ok(error instanceof Anthropic.RateLimitError, `${error}`);
  assert.equal(error.headers.get('retry-after'), '7');
});

test('an unknown model is not found', async () => {
  const error = await failure(
    all.messages('xml').messages.create({ model: 'nobody/knows-it', max_tokens: 10, messages: user('Begin.') }),
  );
  assert.ok(error instanceof Anthropic.NotFoundError, `${error}`);
  assert.equal(error.error.error.type, 'not_found_error');
});
