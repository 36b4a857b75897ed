// The tools that the tests declare.

const tool = (name, description, required, properties) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: { type: 'object', properties, required, additionalProperties: false },
  },
});

export const WEATHER = tool('get_weather', 'The weather of a city.', ['city'], {
  city: { type: 'string', description: 'Name of the city.' },
  days: { type: 'integer', description: 'How many days ahead.' },
});

export const WRITE_FILE = tool('write_file', 'Writes a text file.', ['path', 'content'], {
  path: { type: 'string' },
  content: { type: 'string' },
});

export const TOOLS = [WEATHER, WRITE_FILE];
