// Chat Completions through the official JavaScript client: text, calls, loops, faults, leaving.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';

import { DIALECTS, TEXT_DIALECTS, failure, startAll, until } from './harness.mjs';
import { LONG, TOOLS, WEATHER } from './tools.mjs';

const user = [{ role: 'user', content: 'How is the weather in Zürich?' }];
const ANSWER = 'It is 21 degrees in Zürich.';

let all;
before(async () => {
  all = await startAll();
});
after(async () => {
  await all?.stop();
});

for (const dialect of DIALECTS) {
  describe(dialect, () => {
    const ask = (request) => all.client(dialect).chat.completions.create({ messages: user, tools: TOOLS, ...request });

    test('text, streamed', async () => {
      let text = '';
      const finishes = [];
      const ids = new Set();
      for await (const chunk of await ask({ model: `${dialect}/hello`, stream: true })) {
        ids.add(chunk.id);
        text += chunk.choices[0]?.delta.content ?? '';
        if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      }
      assert.equal(text, 'Hello there. How can I help?');
      assert.deepEqual(finishes, ['stop']);
      assert.equal(ids.size, 1);
    });

    test('text, whole', async () => {
      const reply = await ask({ model: `${dialect}/hello` });
      assert.equal(reply.choices[0].message.content, 'Hello there. How can I help?');
      assert.equal(reply.choices[0].finish_reason, 'stop');
      assert.equal(reply.choices[0].message.tool_calls, undefined);
    });

    test('a call, through the streaming helper', async () => {
      const stream = all.client(dialect).chat.completions.stream({ model: `${dialect}/weather`, messages: user, tools: TOOLS });
      let text = '';
      const done = [];
      stream.on('content', (delta) => (text += delta));
      stream.on('tool_calls.function.arguments.done', (call) => done.push(call));
      const reply = await stream.finalChatCompletion();
      assert.equal(text, 'Let me look.\n');
      assert.equal(reply.choices[0].finish_reason, 'tool_calls');
      assert.deepEqual(done.map((call) => [call.index, call.name, JSON.parse(call.arguments)]), [
        [0, 'get_weather', { city: 'Zürich', days: 2 }],
      ]);
    });

    test('two calls, streamed: indexes 0 and 1, ids of their own', async () => {
      const calls = [];
      for await (const chunk of await ask({ model: `${dialect}/two`, stream: true })) {
        for (const delta of chunk.choices[0]?.delta.tool_calls ?? []) {
          calls[delta.index] ??= { id: delta.id, name: delta.function.name, text: '' };
          calls[delta.index].text += delta.function?.arguments ?? '';
        }
      }
      assert.deepEqual(calls.map((call) => JSON.parse(call.text)), [{ city: 'Bern' }, { city: 'Basel', days: 3 }]);
      assert.notEqual(calls[0].id, calls[1].id);
    });

    for (const stream of [true, false]) {
      test(`runTools closes the loop, ${stream ? 'streamed' : 'whole'}`, async () => {
        const asked = [];
        const get_weather = async (args) => {
          asked.push(args);
          return { degrees: 21 };
        };
        const runner = all.client(dialect).chat.completions.runTools({
          model: `${dialect}/weather`,
          messages: user,
          stream,
          tools: [{ type: 'function', function: { ...WEATHER.function, function: get_weather, parse: JSON.parse } }],
        });
        assert.equal(await runner.finalContent(), ANSWER);
        assert.deepEqual(asked, [{ city: 'Zürich', days: 2 }]);
        assert.deepEqual(runner.messages.map((message) => message.role), ['user', 'assistant', 'tool', 'assistant']);
      });

      for (const [name, code] of [
        ['truncated', 'TOOL_CALL_TRUNCATED'],
        ['unknown', 'CLIENT_TOOL_NAME_MISMATCH'],
        ['bad-args', 'CLIENT_TOOL_ARGS_INVALID'],
        ['early', 'UPSTREAM_ENDED_EARLY'],
        ['empty', 'EMPTY_ASSISTANT_RESPONSE'],
      ]) {
        test(`${code}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const calls = [];
          const error = await failure(
            (async () => {
              const reply = await ask({ model: `${dialect}/${name}`, stream });
              if (!stream) return;
              for await (const chunk of reply) calls.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
            })(),
          );
          assert.ok(error instanceof OpenAI.APIError, `${error}`);
          assert.equal(error.code, code);
          assert.deepEqual(calls, []);
          if (!stream) assert.equal(error.status, 502);
        });
      }
    }

    test('length inside a call: the finish reason, no call', async () => {
      const reply = await ask({ model: `${dialect}/length` });
      assert.equal(reply.choices[0].finish_reason, 'length');
      assert.equal(reply.choices[0].message.tool_calls, undefined);
    });

    test('a rate limit comes with its wait', async () => {
      const error = await failure(ask({ model: 'fault/429', stream: true }));
      assert.ok(error instanceof OpenAI.RateLimitError, `${error}`);
      assert.equal(error.headers.get('retry-after'), '7');
    });

    test('an unknown model is not found', async () => {
      const error = await failure(ask({ model: 'nobody/knows-it' }));
      assert.ok(error instanceof OpenAI.NotFoundError, `${error}`);
    });

    test('text arrives while the provider writes; leaving cancels it', async () => {
      const before = await all.settled();
      const stream = await ask({ model: `${dialect}/hang`, stream: true });
      let text = '';
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        if (text === 'Working on it.') break;
      }
      assert.equal(text, 'Working on it.');
      await until('the provider sees the client leave', 2000, async () => (await all.cancelled()) === before + 1);
    });
  });
}

for (const dialect of TEXT_DIALECTS) {
  test(`a choice that is not met, ${dialect}`, async () => {
    const error = await failure(
      all.client(dialect).chat.completions.create({
        model: `${dialect}/hello`, messages: user, tools: TOOLS, tool_choice: 'required',
      }),
    );
    assert.equal(error.code, 'TOOL_CHOICE_VIOLATED');
    assert.equal(error.status, 502);
  });
}

test('a megabyte of argument in pieces of four bytes arrives as it was written', async () => {
  const stream = all.client('xml').chat.completions.stream(
    { model: 'xml/long', messages: user, tools: TOOLS }, { timeout: 100_000 },
  );
  const [call] = (await stream.finalMessage()).tool_calls;
  const { path, content } = JSON.parse(call.function.arguments);
  assert.equal(path, 'a');
  assert.ok(content === LONG, `${content.length} characters, or other ones`);
});
