/**
 * Random scripts for a comparison of two implementations of Lua 5.1, with what the scripts of inkcast use of it:
 * expressions, statements, and calls of the libraries with arguments that are right, unusual or wrong.
 */

/** Shows up to four values with their types. */
const SHOW = `local show local function one (v)
  local t = type(v)
  if t == 'number' then return 'n' .. string.format('%.0f %.6f', v, v) .. '=' .. v end
  if t == 'string' then return 's' .. #v .. ':' .. v end
  if t == 'table' then return 't' .. #v .. '{' .. show(v[1], v[2], v[3], v[4]) .. '|' .. show(v.a, v.x, v.err, v.ok) .. '}' end
  if t == 'boolean' then return v and 'true' or 'false' end
  return t
end
show = function (a, b, c, d) return one(a) .. ',' .. one(b) .. ',' .. one(c) .. ',' .. one(d) end`.replace(/\s*\n\s*/g, ' ')
const HEAD = `${SHOW} local v0, v1, v2 = nil, {}, '5' local function f3 (a) return 1, a or 2, 'z' end `

const BYTES = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join('')
const STRINGS = [
  '', '0x10', ' 12 ', '1e5', '-0', 'inf', '-inf', 'infinity', 'nan', '0x', '1e', '  ', '5\0', '\0', 'a', 'abc', '\xc3\xa9', BYTES,
  'x'.repeat(300), '1.5', '.5', '5.', '.', '-', '+', '0x1p4', '0x.8', '0x1.8p-1', '1_000', '1e400', '-1e400', '9007199254740993',
  '0b1', '+5', '- 5', '1 2', '\t7\n', '0xg', '1e-400', '0xffffffffffffffffff', '10', '3', 'a b c', 'aXbXc', '%d', '%', '"\\/\b\f\n\r\t\x7f',
  '1\x002', 'z', 'A', 'hello world', '00012', '1E+2', '12345678901234567890', '0.1'
]
// '#\'\'' is 0: Lua 5.1 confuses the constants 0 and -0
const NUMBERS = [
  '#\'\'', '1', '-1', '2', '3', '0.5', '1.5', '2.5', '-3.7', '10', '65', '255', '256', '1e14', '1e15', '-1e15', '123456789012345',
  '9007199254740992',
  '9007199254740993', '1e100', '1/#\'\'', '-1/#\'\'', '0.1', '1/3', '1e-4', '1e-5', '99999999999999.5', '100000000000005', '5e-324',
  '1e308',
  '#\'\'/#\'\'', '2147483648', '4294967296', '18446744073709551616', '0x10', 'tonumber("-0")', '1e21', '123456.789', '0.125', '1e5',
  '12345678'
]
const TABLES = [
  '{}', '{1, 2, 3}', '{a = 1, x = \'y\'}', '{1, 2, a = 3}', '{nil}', '{{1}, {}}', '{f3()}', '{1, f3()}', '{(f3())}',
  '{\'b\', \'a\', \'c\'}'
]
const OTHERS = [
  'nil', 'true', 'false', 'function () end', 'f3', 'undefinedName', 'string.sub', 'redis.pcall(\'PING\')', 'redis.call(\'GET\', \'k\')'
]

/** @param {string} text @returns {string} a literal of Lua */
export const quoteLua = (text) => `'${text.replace(/[^ -&(-[\]-~]/g, (c) => `\\${String(c.charCodeAt(0)).padStart(3, '0')}`)}'`

/** Of patterns; one that ends in a capture is not repeated by a sign behind it. */
const PIECES = [
  'a', 'b', 'X', '.', '%d', '%S', '[^a]', '[^|,]', '(a)', '(.*)', '(%d+)', '(%S*)', '%.', '%-', '%%', '%)', ' ', '0', '|', '{', '\\'
]
const LIBRARY = {
  'string.byte': 'sii', 'string.match': 'sp', 'string.gsub': 'spr', 'string.sub': 'sii', 'string.format': 'Fvv', 'tonumber': 'w',
  'type': 'w',
  'unpack': 't', 'math.floor': 'v', 'math.ceil': 'v', 'math.max': 'vvv', 'math.min': 'vvv', 'table.concat': 'tsi', 'table.insert': 'tw',
  'next': 'n',
  'ipairs': 't', 'cjson.encode': 'q', 'cjson.decode': 'j', 'redis.error_reply': 's', 'redis.call': 'cvv', 'redis.pcall': 'cvv'
}

/**
 * @param {() => number} random
 * @param {number} count
 * @returns {string[]} scripts, bytes
 */
export function generateCases (random, count) {
  const below = (/** @type {number} */ n) => Math.floor(random() * n)
  /** @template T @param {ArrayLike<T>} list @returns {T} */
  const pick = (list) => list[below(list.length)]
  /** @param {number} n @param {() => string} make */
  const times = (n, make) => Array.from({ length: Math.floor(n) }, make)
  const text = () => random() < 0.8 ? pick(STRINGS) : times(below(6), () => pick('abcX01 .-()%\0\xff')).join('')
  const string = () => quoteLua(text())
  const small = () => String(below(12) - 5)
  const literal = () =>
    pick([
      string, string, () => pick(NUMBERS), () => pick(NUMBERS), () => small().replace(/^0$/, '#\'\''), () => pick(TABLES),
      () => pick(OTHERS)
    ])()
  const pattern = (start = random() < 0.2 ? '^' : '') => quoteLua(start + times(1 + below(5), () =>
    pick(PIECES) + (random() < 0.4 ? pick('*+?') : '')).join('') + (random() < 0.2 ? '$' : ''))
  const subject = () => random() < 0.2 ? string() : quoteLua(times(below(12), () => pick('aabbXc01_ .()|,\n\0\x80%-')).join(''))
  /** @type {(depth: number) => string} */
  const json = (depth) => pick([
    () => pick(['1', '-1.5e3', '0.1', '12345678901234567890', 'true', 'false']),
    () => `"${times(below(4), () => pick(['a', '\\n', '\\/', '\\u0041', '\\u00e9', '\\ud83d\\ude00', '\xc3\xa9', '\\"'])).join('')}"`,
    () => depth > 0 ? `[${times(below(3), () => json(depth - 1)).join(pick([',', ', ', ' ,']))}]` : '[]',
    () => depth > 0 ? `{${times(below(3), () => `"${pick('axb')}":${json(depth - 1)}`).join(',')}}` : '{}'
  ])()

  /** @type {Record<string, () => string>} */
  const arguments_ = {
    s: () => random() < 0.9 ? (random() < 0.5 ? subject() : string()) : literal(),
    q: string,
    p: pattern,
    i: () => random() < 0.8 ? small() : pick(['1.9', '\'2\'', '-1.5', 'true', '{}', '300']),
    r: () => quoteLua(times(below(4), () => pick(['%0', '%1', '%%', 'z', '<', '%'])).join('')),
    F: () => quoteLua(times(1 + below(2), () => pick(['%.0f', '%.6f', '%s', '%%', '|'])).join(' ')),
    v: () => expression(1),
    // exactly one value
    w: () => `(${expression(1)})`,
    t: () => random() < 0.9 ? pick(TABLES) : literal(),
    n: () => pick(['{}', '{5}', '{a = 1}', 'nil', '5']),
    c: () => random() < 0.9 ? pick(['\'ECHO\'', '\'PING\'', '\'GET\'', '\'HMGET\'', '\'FOO\'']) : literal(),
    j: () => quoteLua(json(3))
  }
  const libraryCall = () => {
    const [name, kinds] = pick(Object.entries(LIBRARY))
    return `${name}(${[...kinds].map((kind) => arguments_[kind]()).join(', ')})`
  }
  const find = () => `string.find(${subject()}, ${pick([subject, string])()}, ${small()}, true)`
  /** @type {(depth: number) => string} */
  const expression = (depth) => {
    if (depth <= 0) return literal()
    const part = () => expression(depth - 1)
    return pick([
      literal, libraryCall, libraryCall, find,
      () => `(${part()} ${pick(['+', '-', '*', '/'])} ${part()})`,
      () => `(${pick(NUMBERS)} ${pick(['+', '-', '*', '/'])} ${pick(NUMBERS)})`,
      () => `(${part()} .. ${part()})`,
      () => `(${part()} ${pick(['==', '~=', '<', '>', '<=', '>='])} ${part()})`,
      // Lua folds constants, and its errors then name the other one
      () => `({(${part()} ${pick(['and', 'or'])} ${part()})})[1]`,
      () => `(not ${part()})`, () => `(- ${part()})`, () => `#(${part()})`,
      () => `(${part()})[${part()}]`, () => `(${part()}).${pick('axe')}`,
      () => `v${below(3)}`, () => `v${below(3)}.x`, () => `v${below(3)}()`, () => `v${below(3)} + 1`, () => `'a' .. v${below(3)}`
    ])()
  }

  const names = ['a', 'b', 'c']
  /** @type {(depth: number) => string} */
  const statement = (depth) => {
    const name = () => pick(names)
    const value = () => random() < 0.4 ? name() : expression(1)
    const body = () => times(1 + below(3), () => statement(depth - 1)).join(' ')
    return pick([
      () => `local ${name()} = ${value()}`, () => `${name()} = ${value()}`, () => `${name()}, ${name()} = ${value()}, ${value()}`,
      () => `${name()}, ${name()} = f3(${value()})`, () => `local ${name()}, ${name()}, ${name()} = ${value()}, f3(${value()})`,
      () => `log(${value()}, ${value()})`, () => `${name()} = {${value()}, f3(${value()})}`, () => `v1.${pick('abx')} = ${value()}`,
      () => `table.insert(v1, (${value()})) log(#v1)`, () => `v1[#v1 + 1] = ${value()} log(v1) v1[#v1] = nil log(v1)`,
      ...depth <= 0 ? [] : [
        () => `if ${value()} then ${body()} elseif ${value()} then ${body()} else ${body()} end`,
        () => `for i = ${small()}, ${small()}${random() < 0.4 ? `, ${pick(['1', '2', '-1', '0.5'])}` : ''} do log(i) ${body()} if i == ` +
          '2 then break end end',
        () => `for i, v in ipairs({${value()}, ${value()}, ${value()}}) do log(i, v) ${body()} end`,
        () => 'for k, v in pairs({7, 8, 9}) do log(k, v) end', () => 'for k, v in pairs({a = 1}) do log(k, v) end',
        () => `for w in string.gmatch(${subject()}, ${pattern('')}) do log(w) end`,
        () => `local n = 0 while n < 3 do n = n + 1 ${body()} end`,
        () => `${name()} = function (a) ${body()} return a, 1 end`, () => `local function ${name()} (x) ${body()} log(x) end`,
        () => `log((f3(${value()})), f3(${value()}))`,
        () => 'local fs = {} for i = 1, 3 do fs[i] = function () i = i + 1 return i end end log(fs[1](), fs[1](), fs[2]())',
        () => `log(${name()}.x,\n${value()},\n${name()}(2)\n)`
      ]
    ])()
  }
  const program = () => `local a, b, c = 1, 'x', {} local out = {} local function log (w, x, y, z) out[#out + 1] = show(w, x, y, z) end
${times(2 + below(5), () => statement(2)).join('\n')}
return out`
  const snippets = [
    () => `return ${pick(['show(', '{', '('])}${expression(2)}`, () => `return show(${expression(2)}`, () => `return show(${libraryCall()}`,
    () => `return show(string.match(${subject()}, ${pattern()})`, () => `return show(string.gsub(${subject()}, ${pattern()}, ` +
      `${arguments_.r()})`
  ].map((make) => () => make().replace(/^return (show\(|{|\()[^]*$/, (all, open) => all + (open === '{' ? '}' : ')')))
  return times(count, () => `${HEAD}\n${pick([...snippets, program, program])()}`)
}
