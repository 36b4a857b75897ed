// The tools that the tests declare, and what they give them.

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

/** A result that no layer may read as markup. */
export const RESULT = '{"degrees": 21, "sky": "clear < cloudy & \u{1f324}"}';

/** A picture of one pixel, as PNG in base64. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The content in `xml/long`: lines that some layer between the model and the client could damage. */
export const LONG =
  "quotes \" ' `, back\\slashes \\n \\u0041, tab\t, é e\u0301 中 😀, a[0] < b && c > d, <b>&amp;</b> ]] end\r\n".repeat(10382);
