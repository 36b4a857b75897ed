// What official clients read of a reply: their accumulating helpers, their raw events, whole replies.
// Every reading of every API comes to one form. It decides nothing about what is right, except that
// a client raises no other error than its own.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

import { E2E, REQUEST_MS } from './harness.mjs';
import { TOOLS } from './tools.mjs';

export const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' };

/** What the bodies mean, and how their frames are told apart; the Python tests read the same. */
const CASES = JSON.parse(readFileSync(path.join(E2E, 'prefix/cases.json'), 'utf8'));
export const KINDS = CASES.kinds;
/**
 * `complete`: the frame that says that the turn is over. `closing`: frames that end a call, a part,
 * the turn, or the stream. `call`, `text`: frames with a part of a call, or of text.
 */
const FRAMES = Object.entries(CASES.frames).map(([name, pattern]) => [name, new RegExp(pattern)]);

const user = [{ role: 'user', content: 'How is the weather?' }];
const options = { apiKey: 'e2e', maxRetries: 0, timeout: REQUEST_MS };

/**
 * Runs a reading. What it gives: `text`, `reasoning`; `opened`, the calls that the client was told of;
 * `finished`, those whose end it was told of; the `end` of a success, or the `error` and its `status`;
 * the `final` reply as the client holds it.
 */
export async function read(reading) {
  const seen = { text: '', reasoning: '', opened: [], finished: [] };
  try {
    await reading(seen);
  } catch (error) {
    if (!(error instanceof OpenAI.APIError || error instanceof Anthropic.APIError)) throw error;
    assert.equal(seen.end, undefined, `an error behind the end: ${error}`);
    const body = error.error?.error ?? error.error ?? {};
    seen.error = body.callgate_code ?? body.code ?? `${error}`;
    seen.status = error.status;
  }
  return seen;
}

/** Members that differ from reply to reply, and what the helpers of the clients add. */
const OWN = new Set([
  'id', 'call_id', 'created', 'created_at', 'completed_at', 'model', 'parsed', 'parsed_arguments', 'output_text',
  'output_parsed', '_request_id',
]);
const plain = (value) =>
  JSON.parse(JSON.stringify(value, (name, member) => (OWN.has(name) ? undefined : member)));

/** What a whole reply says must be what its stream said. */
function settle(seen, whole) {
  assert.deepEqual([whole.text, whole.finished, whole.end], [seen.text, seen.finished, seen.end]);
  seen.final = whole.final;
}

const nothing = () => ({ text: '', reasoning: '', finished: [] });

/** Readings of Chat Completions. */
function chat(url) {
  const api = new OpenAI({ baseURL: `${url}/v1`, ...options }).chat.completions;
  const request = { messages: user, tools: TOOLS };

  function fold(chunk, seen) {
    for (const { delta, finish_reason } of chunk.choices) {
      assert.equal(seen.end, undefined, 'a choice after its finish reason');
      seen.text += delta.content ?? '';
      seen.reasoning += delta.reasoning_content ?? '';
      for (const call of delta.tool_calls ?? []) {
        seen.opened[call.index] ??= { name: call.function.name, arguments: '' };
        seen.opened[call.index].arguments += call.function.arguments ?? '';
      }
      seen.end = finish_reason ?? undefined;
    }
  }

  function whole(reply, seen) {
    const [{ message, finish_reason }] = reply.choices;
    seen.text = message.content ?? '';
    seen.reasoning = message.reasoning_content ?? '';
    seen.finished = (message.tool_calls ?? []).map(({ function: { name, arguments: text } }) => ({ name, arguments: text }));
    seen.opened = seen.finished;
    seen.end = finish_reason;
    seen.final = plain(reply);
    return seen;
  }

  return {
    ends: ['stop', 'tool_calls'],
    async helper(model, seen) {
      const stream = api.stream({ model, ...request });
      stream.on('chunk', (chunk) => fold(chunk, seen));
      stream.on('tool_calls.function.arguments.done', ({ index, name, arguments: text }) => {
        assert.equal(index, seen.finished.length);
        seen.finished.push({ name, arguments: text });
      });
      settle(seen, whole(await stream.finalChatCompletion(), nothing()));
    },
    async raw(model, seen) {
      for await (const chunk of await api.create({ model, stream: true, ...request })) fold(chunk, seen);
      assert.ok(seen.end, 'the stream ended without a finish reason and without an error');
      seen.finished = seen.opened;
    },
    whole: async (model, seen) => void whole(await api.create({ model, ...request }), seen),
  };
}

/** Readings of Responses. */
function responses(url) {
  const api = new OpenAI({ baseURL: `${url}/v1`, ...options }).responses;
  const tools = TOOLS.map((tool) => ({ type: 'function', strict: false, ...tool.function }));
  const request = { input: 'How is the weather?', tools };

  function fold(event, seen, calls) {
    assert.ok(!seen.end && !seen.error, `${event.type} behind the end`);
    const { output_index: index, item } = event;
    const isCall = item?.type === 'function_call';
    if (event.type === 'response.output_text.delta') seen.text += event.delta;
    else if (event.type === 'response.reasoning_summary_text.delta') seen.reasoning += event.delta;
    else if (event.type === 'response.reasoning_text.delta') seen.reasoning += event.delta;
    else if (event.type === 'response.output_item.added' && isCall) {
      calls[index] = { name: item.name, arguments: item.arguments };
      seen.opened.push(calls[index]);
    } else if (event.type === 'response.function_call_arguments.delta') calls[index].arguments += event.delta;
    else if (event.type === 'response.function_call_arguments.done') assert.equal(event.arguments, calls[index].arguments);
    else if (event.type === 'response.output_item.done' && isCall) {
      assert.equal(item.arguments, calls[index].arguments);
      seen.finished.push({ name: item.name, arguments: item.arguments });
    } else if (event.type === 'response.completed') {
      seen.end = event.response.status;
      settle(seen, whole(event.response, nothing()));
    } else if (event.type === 'response.failed' || event.type === 'response.incomplete') {
      assert.ok(event.response.error, `${event.type} without an error`);
      seen.error = event.response.error.callgate_code ?? event.response.error.code;
    }
  }

  function whole(reply, seen) {
    for (const item of reply.output) {
      if (item.type === 'function_call') seen.finished.push({ name: item.name, arguments: item.arguments });
      else if (item.type === 'message') seen.text += item.content.map((part) => part.text).join('');
      else if (item.type === 'reasoning') {
        seen.reasoning += [...item.summary, ...(item.content ?? [])].map((part) => part.text).join('');
      }
    }
    seen.opened = seen.finished;
    seen.end = reply.status;
    seen.final = plain(reply);
    return seen;
  }

  return {
    ends: ['completed', 'completed'],
    async helper(model, seen) {
      const calls = [];
      const stream = api.stream({ model, ...request });
      stream.on('event', (event) => fold(event, seen, calls));
      const final = await stream.finalResponse();
      // This client gives a failed reply as it gives any other.
      if (seen.error) assert.equal(final.status, 'failed');
      else settle(seen, whole(final, nothing()));
    },
    async raw(model, seen) {
      const calls = [];
      for await (const event of await api.create({ model, stream: true, ...request })) fold(event, seen, calls);
      assert.ok(seen.end || seen.error, 'the stream ended without its last event');
    },
    whole: async (model, seen) => void whole(await api.create({ model, ...request }), seen),
  };
}

/** Readings of Messages. */
function messages(url) {
  const api = new Anthropic({ baseURL: url, ...options }).messages;
  const tools = TOOLS.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters }));
  const request = { messages: user, tools, max_tokens: 1000 };

  function fold(event, seen, state) {
    assert.equal(seen.end, undefined, `${event.type} behind the end`);
    if (event.type === 'content_block_start') {
      state.isCall = event.content_block.type === 'tool_use';
      if (state.isCall) seen.opened.push({ name: event.content_block.name, arguments: '' });
    } else if (event.type === 'content_block_delta') {
      const { delta } = event;
      if (delta.type === 'text_delta') seen.text += delta.text;
      else if (delta.type === 'thinking_delta') seen.reasoning += delta.thinking;
      else if (delta.type === 'input_json_delta') seen.opened.at(-1).arguments += delta.partial_json;
    } else if (event.type === 'content_block_stop' && state.isCall) {
      state.finished?.push(seen.opened.at(-1));
      state.isCall = false;
    } else if (event.type === 'message_delta') state.stop = event.delta.stop_reason;
    else if (event.type === 'message_stop') seen.end = state.stop;
  }

  function whole(reply, seen) {
    for (const block of reply.content) {
      if (block.type === 'text') seen.text += block.text;
      else if (block.type === 'thinking') seen.reasoning += block.thinking;
      else if (block.type === 'tool_use') seen.finished.push({ name: block.name, arguments: block.input });
    }
    seen.opened = seen.finished;
    seen.end = reply.stop_reason;
    seen.final = plain(reply);
    return seen;
  }

  return {
    ends: ['end_turn', 'tool_use'],
    async helper(model, seen) {
      const stream = api.stream({ model, ...request });
      const state = {};
      stream.on('streamEvent', (event) => fold(event, seen, state));
      stream.on('contentBlock', (block) => {
        if (block.type === 'tool_use') seen.finished.push({ name: block.name, arguments: block.input });
      });
      settle(seen, whole(await stream.finalMessage(), nothing()));
    },
    async raw(model, seen) {
      const state = { finished: seen.finished };
      for await (const event of await api.create({ model, stream: true, ...request })) fold(event, seen, state);
      assert.ok(seen.end, 'the stream ended without its last event');
    },
    whole: async (model, seen) => void whole(await api.create({ model, ...request }), seen),
  };
}

export const CLIENTS = { chat, responses, messages };

/** Whether a call is this one; its arguments are text, or the object that the client made of it. */
export function checkCall(call, [name, text]) {
  assert.equal(call.name, name);
  if (typeof call.arguments === 'string') assert.equal(call.arguments, text);
  else assert.deepEqual(call.arguments, JSON.parse(text));
}

/** The text that a frame of a provider adds. */
function textOf(frame) {
  const data = JSON.parse(frame.slice(frame.indexOf('data: ') + 6));
  const delta = data.choices ? data.choices[0].delta : data.delta;
  return typeof delta === 'string' ? delta : (delta.content ?? delta.text ?? '');
}

/**
 * The places of a body: `may`, from where on the reply may be a success, as the last brace that says
 * so has come; `must`, from where on it must be one; `said`, the text of the frames before a
 * place, with or without one that only lacks its blank line; `tried`, the places that are tried always,
 * some of them inside frames of that sort.
 */
export function placesOf(body, inside) {
  const frames = [];
  let start = 0;
  for (let end; (end = body.indexOf('\n\n', start)) >= 0; start = end + 2) {
    const text = body.toString('utf8', start, end);
    const sorts = FRAMES.filter(([, pattern]) => pattern.test(text)).map(([name]) => name);
    frames.push({ first: start, last: end + 2, sorts });
  }
  assert.equal(start, body.length, 'the body ends inside a frame');
  const having = (sort) => frames.filter(({ sorts }) => sorts.includes(sort));
  const [{ last: must }, ...others] = having('complete');
  assert.deepEqual(others, []);
  const tried = having('closing').flatMap(({ first, last }) => [first, last]).slice(-8);
  const parts = having(inside);
  for (const { first, last } of [parts[parts.length >> 1], parts.at(-1)]) {
    // In the middle of the frame, inside its value, behind it.
    tried.push((first + last) >> 1, last - 6, last);
  }
  const texts = having('text').map(({ first, last }) => [last, textOf(body.toString('utf8', first, last))]);
  const said = (place) =>
    [0, 2].map((gap) => texts.filter(([last]) => last - gap <= place).map(([, text]) => text).join(''));
  return { may: must - 2, must, said, tried: [body.length, must - 1, must, ...tried] };
}
