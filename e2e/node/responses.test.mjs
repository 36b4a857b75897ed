// The Responses API through the official JavaScript client, over providers of every API.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';

import { DIALECTS, TEXT_DIALECTS, WIRES, failure, newMark, startAll, until } from './harness.mjs';
import { LONG, PIXEL, RESULT, TOOLS } from './tools.mjs';

/** The same tools as this API declares them. */
const FLAT = TOOLS.map(({ function: declared }) => ({ type: 'function', strict: false, ...declared }));
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};
const DIFF = '*** Begin Patch\n*** Update File: a.py\n@@\n-print("a")\n+print("b" if 1 < 2 else "\\n")\n*** End Patch\n';
/** The deltas of a call, and where their end says the whole again. */
const DELTAS = new Set(['response.function_call_arguments.delta', 'response.custom_tool_call_input.delta']);
const DONE = { 'response.function_call_arguments.done': 'arguments', 'response.custom_tool_call_input.done': 'input' };

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
    if (!(error instanceof OpenAI.APIError)) throw error;
    turn.error = error;
  }
  return turn;
}

/** What a client gets of one reply in three ways: by events, by the streaming helper, or whole. */
const WAYS = {
  stream: (api, request) =>
    turnOf(async (turn) => fold(await api.responses.create({ stream: true, ...request }), turn)),
  helper: (api, request) =>
    turnOf(async (turn) => {
      const stream = api.responses.stream(request);
      stream.on('event', (event) => turn.kinds.push(event.type));
      const response = await stream.finalResponse();
      // This client gives a failed reply as it gives any other.
      if (response.status === 'failed') turn.error = response.error;
      else turn.response = response;
    }),
  whole: (api, request) =>
    turnOf(async (turn) => {
      turn.response = await api.responses.create(request);
    }),
};

/** Reads a stream, checking what holds for every event of every stream. */
async function fold(events, turn) {
  const items = [];
  const parts = [];
  let text = '';
  let ended = false;
  for await (const event of events) {
    assert.equal(event.sequence_number, turn.kinds.length);
    assert.ok(!ended, `${event.type} behind the end`);
    turn.kinds.push(event.type);
    const { output_index: index } = event;
    if (event.type === 'response.created') {
      assert.deepEqual([turn.kinds.length, event.response.status], [1, 'in_progress']);
    } else if (event.type === 'response.output_item.added') {
      assert.equal(index, items.length, 'items are not numbered in order');
      items.push(event.item);
    } else if (event.type === 'response.output_text.delta') {
      assert.equal(event.item_id, items[index].id);
      text += event.delta;
    } else if (DELTAS.has(event.type)) {
      parts[index] = (parts[index] ?? '') + event.delta;
    } else if (event.type in DONE) {
      // Compared first as a fact: a difference in a megabyte is no message.
      assert.ok(event[DONE[event.type]] === parts[index], 'the end of a call says something else than its deltas');
    } else if (event.type === 'response.output_item.done') {
      assert.equal(event.item.id, items[index].id);
      items[index] = event.item;
    } else if (event.type === 'response.completed' || event.type === 'response.incomplete') {
      ended = true;
      turn.response = event.response;
      assert.deepEqual(event.response.output.map((item) => item.id), items.map((item) => item.id));
      assert.equal(textOf(turn), text);
    } else if (event.type === 'response.failed') {
      ended = true;
      turn.error = event.response.error;
    }
  }
  assert.ok(ended, 'the stream ended without a terminal event');
}

/** All text of the messages: not every way of this client makes `output_text`. */
const textOf = ({ response }) =>
  response.output.flatMap((item) => (item.type === 'message' ? item.content : [])).map((part) => part.text).join('');
const itemsOf = ({ response }, type) => response.output.filter((item) => item.type === type);
const argumentsOf = (call) => JSON.parse(call.arguments);

/** A turn that ended well, with what holds for each. */
function good(turn) {
  assert.equal(turn.error, undefined, `${turn.error?.message}`);
  const { response } = turn;
  assert.equal(response.object, 'response');
  assert.match(response.id, /^resp_/);
  assert.ok(response.usage);
  assert.equal(new Set(response.output.map((item) => item.id)).size, response.output.length);
  return turn;
}

for (const wire of WIRES) {
  for (const dialect of DIALECTS) {
    describe(`${dialect} over ${wire}`, () => {
      const api = () => all.client(dialect, wire);
      for (const [way, take] of Object.entries(WAYS)) {
        const ask = (request) => take(api(), { tools: FLAT, ...request });
        const named = (name) => `${name}, ${way}`;

        test(named('call, result, answer'), async () => {
          const mark = newMark();
          const history = [{ role: 'user', content: `How is the weather in Zürich? (${mark})` }];
          const request = { model: `${dialect}/weather`, instructions: 'Answer briefly.', store: false };
          const first = good(await ask({ input: history, ...request }));
          assert.deepEqual([textOf(first).trim(), first.response.status], ['Let me look.', 'completed']);
          const [call, ...others] = itemsOf(first, 'function_call');
          assert.deepEqual(others, []);
          assert.deepEqual([call.name, argumentsOf(call), call.status], [
            'get_weather', { city: 'Zürich', days: 2 }, 'completed',
          ]);
          history.push(...first.response.output);
          history.push({ type: 'function_call_output', call_id: call.call_id, output: RESULT });
          const second = good(await ask({ input: history, ...request }));
          assert.equal(textOf(second), 'It is 21 degrees in Zürich.');
          assert.deepEqual(itemsOf(second, 'function_call'), []);
          const sent = await all.requests(mark);
          assert.equal(sent.length, 2);
          const everything = JSON.stringify(sent[1]);
          for (const word of ['Answer briefly.', 'get_weather', call.call_id, 'clear < cloudy & \u{1f324}']) {
            assert.ok(everything.includes(word), `the provider is not sent ${word}`);
          }
          assert.equal('tools' in sent[1], dialect === 'native');
        });

        test(named('two calls'), async () => {
          const turn = good(await ask({ model: `${dialect}/two`, input: 'Compare.' }));
          const calls = itemsOf(turn, 'function_call');
          assert.deepEqual(calls.map((call) => [call.name, argumentsOf(call)]), [
            ['get_weather', { city: 'Bern' }],
            ['get_weather', { city: 'Basel', days: 3 }],
          ]);
          assert.notEqual(calls[0].call_id, calls[1].call_id);
        });

        for (const [name, code] of [
          ['truncated', 'TOOL_CALL_TRUNCATED'],
          ['unknown', 'CLIENT_TOOL_NAME_MISMATCH'],
          ['bad-args', 'CLIENT_TOOL_ARGS_INVALID'],
          ['early', 'UPSTREAM_ENDED_EARLY'],
          ['empty', 'EMPTY_ASSISTANT_RESPONSE'],
        ]) {
          test(named(`${code} delivers no call`), async () => {
            const { response, error, kinds } = await ask({ model: `${dialect}/${name}`, input: 'Begin.' });
            assert.ok(error);
            assert.equal(response, undefined);
            assert.deepEqual(kinds.filter((kind) => kind.includes('function_call')), []);
            if (error instanceof OpenAI.APIError) {
              assert.equal(error.status, 502);
              // Which fault it was, only the gateway knows that found it.
              if (wire === 'chat') assert.equal(error.code, code);
            } else {
              // In a stream the code is one that this API has; ours stands beside it.
              assert.notEqual(way, 'whole');
              assert.equal(kinds.at(-1), 'response.failed');
              if (wire === 'chat') assert.equal(error.callgate_code, code);
            }
          });
        }

        if (TEXT_DIALECTS.includes(dialect)) {
          test(named('length inside a call: incomplete, no call'), async () => {
            const turn = good(await ask({ model: `${dialect}/length`, input: 'Begin.' }));
            assert.equal(turn.response.status, 'incomplete');
            assert.equal(turn.response.incomplete_details.reason, 'max_output_tokens');
            assert.deepEqual(itemsOf(turn, 'function_call'), []);
          });
        }

        // There is no script of a patch in the other text dialect.
        if (dialect !== 'ctl-heredoc') {
          test(named('a custom tool is called as one'), async () => {
            const mark = newMark();
            const history = [{ role: 'user', content: mark }];
            const request = { model: `${dialect}/patch`, tools: [PATCH, ...FLAT] };
            const first = good(await ask({ input: history, ...request }));
            const [call, ...others] = itemsOf(first, 'custom_tool_call');
            assert.deepEqual(others, []);
            assert.deepEqual([call.name, call.input], ['apply_patch', DIFF]);
            assert.deepEqual(itemsOf(first, 'function_call'), []);
            if (way !== 'whole') assert.ok(first.kinds.includes('response.custom_tool_call_input.done'));
            history.push(...first.response.output);
            history.push({ type: 'custom_tool_call_output', call_id: call.call_id, output: 'Done.' });
            const second = good(await ask({ input: history, ...request }));
            assert.equal(textOf(second), 'The line is changed.');
            assert.ok(JSON.stringify((await all.requests(mark)).at(-1)).includes('*** Update File: a.py'));
          });
        }
      }

      test('images reach the provider', async () => {
        const mark = newMark();
        const image = `data:image/png;base64,${PIXEL}`;
        const content = [
          { type: 'input_text', text: mark },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ];
        good(await WAYS.whole(api(), { model: `${dialect}/hello`, tools: FLAT, input: [{ role: 'user', content }] }));
        const [sent] = await all.requests(mark);
        const parts = sent.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
        assert.deepEqual(parts.filter((part) => part.type === 'image_url').map((part) => part.image_url.url), [image]);
      });

      test('text arrives while the provider writes; leaving cancels it', async () => {
        const before = await all.settled();
        const request = { model: `${dialect}/hang`, tools: FLAT, input: 'Begin.', stream: true };
        let text = '';
        for await (const event of await api().responses.create(request)) {
          if (event.type === 'response.output_text.delta') text += event.delta;
          if (text === 'Working on it.') break;
        }
        assert.equal(text, 'Working on it.');
        await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
      });

      test('leaving before a whole reply cancels the provider', async () => {
        const before = await all.settled();
        const request = { model: `${dialect}/hang`, tools: FLAT, input: 'Begin.' };
        const error = await failure(api().responses.create(request, { timeout: 1000 }));
        assert.ok(error instanceof OpenAI.APIConnectionTimeoutError, `${error}`);
        await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
      });
    });
  }

  for (const [way, take] of Object.entries(WAYS)) {
    test(`reasoning, text and a call over ${wire}, ${way}: each is an item, and they come back`, async () => {
      const history = [{ role: 'user', content: 'Begin.' }];
      const ask = async () =>
        good(await take(all.client('native', wire), { model: 'native/thinking', tools: FLAT, input: history }));
      const first = await ask();
      assert.equal(first.response.status, 'completed');
      assert.deepEqual(first.response.output.map((item) => item.type), ['reasoning', 'message', 'function_call']);
      const [reasoning, , call] = first.response.output;
      const thought = [...(reasoning.summary ?? []), ...(reasoning.content ?? [])].map((part) => part.text).join('');
      assert.equal(thought, 'The user wants < the weather > of Zürich.');
      assert.deepEqual(argumentsOf(call), { city: 'Zürich', days: 2 });
      history.push(...first.response.output);
      history.push({ type: 'function_call_output', call_id: call.call_id, output: RESULT });
      assert.equal(textOf(await ask()), 'It is 21 degrees in Zürich.');
    });

    test(`arguments keep their layout over ${wire}, ${way}`, async () => {
      const turn = good(await take(all.client('native', wire), { model: 'native/layout', tools: FLAT, input: 'Begin.' }));
      const written = await all.written('native/layout');
      assert.deepEqual(itemsOf(turn, 'function_call').map((call) => call.arguments), [written]);
      assert.notEqual(written, JSON.stringify(JSON.parse(written)));
    });
  }

  test(`a megabyte of argument over ${wire} arrives as it was written`, async () => {
    const request = { model: 'xml/long', tools: FLAT, input: 'Begin.', stream: true };
    const turn = await turnOf(async (turn) =>
      fold(await all.client('xml', wire).responses.create(request, { timeout: 100_000 }), turn),
    );
    const [call] = itemsOf(good(turn), 'function_call');
    const { path, content } = argumentsOf(call);
    assert.equal(path, 'a');
    assert.ok(content === LONG, `${content.length} characters, or other ones`);
  });
}

test('what nobody can do is refused by name', async () => {
  for (const [name, value] of [['previous_response_id', 'resp_1'], ['background', true]]) {
    const error = await failure(
      all.client('xml').responses.create({ model: 'xml/weather', input: 'Begin.', [name]: value }),
    );
    assert.ok(error instanceof OpenAI.BadRequestError, `${error}`);
    assert.deepEqual([error.code, error.param], ['UNSUPPORTED_FEATURE', name]);
  }
});

test('a result without its call is named', async () => {
  const input = [{ type: 'function_call_output', call_id: 'call_x', output: '?' }];
  const error = await failure(all.client('xml').responses.create({ model: 'xml/weather', input }));
  assert.ok(error instanceof OpenAI.BadRequestError, `${error}`);
  assert.match(error.message, /call_x/);
});

test('a rate limit comes with its wait', async () => {
  const error = await failure(all.client('xml').responses.create({ model: 'fault/429', input: 'Begin.', stream: true }));
  assert.ok(error instanceof OpenAI.RateLimitError, `${error}`);
  assert.equal(error.headers.get('retry-after'), '7');
});
