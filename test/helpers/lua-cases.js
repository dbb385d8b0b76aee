/**
 * Random scripts of Lua 5.1 for a comparison of two implementations: expressions, statements, and calls of the
 * libraries with arguments that are right, unusual or wrong.
 */

/** Shows values with their types, and numbers in full. */
const SHOW = `local function show (...)
  local out = {}
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local t = type(v)
    if t == 'number' then out[i] = 'n' .. string.format('%.17g', v) .. '=' .. tostring(v)
    elseif t == 'string' then out[i] = 's' .. #v .. ':' .. v
    elseif t == 'table' then
      local items = {}
      for j = 1, #v + 2 do items[j] = show(v[j]) end
      out[i] = 't' .. #v .. '{' .. table.concat(items, ';') .. '|' .. show(v.a, v.x, v.err, v.ok) .. '}'
    else out[i] = tostring(v) end
  end
  return table.concat(out, ',')
end`.replace(/\s*\n\s*/g, ' ').replace('local function show (...)', 'local show show = function (...)') + ' --;\n'

const BYTES = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join('')
const STRINGS = [
  '', '0x10', ' 12 ', '1e5', '-0', 'inf', '-inf', 'infinity', 'nan', '0x', '1e', '  ', '5\0', '\0', 'a', 'abc', '\xc3\xa9', BYTES,
  'x'.repeat(300), '1.5', '.5', '5.', '.', '-', '+', '0x1p4', '0x.8', '0x1.8p-1', '1_000', '1e400', '-1e400', '9007199254740993',
  '0b1', '+5', '- 5', '1 2', '\t7\n', '0xg', '1e-400', '0xffffffffffffffffff', '10', '3', 'a b c', 'aXbXc', '%d', '%', '"\\/\b\f\n\r\t\x7f',
  '1\x002', 'z', 'A', 'hello world', '00012', '1E+2', '12345678901234567890', '0.1'
]
// '#\'\'' is 0: Lua 5.1 confuses the constants 0 and -0
const NUMBERS = [
  '#\'\'', '1', '-1', '2', '3', '0.5', '1.5', '2.5', '-3.7', '10', '65', '255', '256', '1e14', '1e15', '-1e15', '123456789012345', '2^53',
  '2^53 + 1', '1e100', '1/0', '-1/0', '0.1', '1/3', '1e-4', '1e-5', '99999999999999.5', '100000000000005', '5e-324', '1e308', '0/0',
  '2^31', '-2^31', '2^32', '2^63', '-2^63', '2^64', '0x10', 'tonumber("-0")', '1e21', '123456.789', '0.125', '1e5', '12345678'
]
const TABLES = ['{}', '{1, 2, 3}', '{1, nil, 3}', '{nil, nil, 3}', '{a = 1, x = \'y\'}', '{1, 2, a = 3}', '{nil}', '{{1}, {}}', '{[3] = 1}', '{f3()}', '{1, f3()}', '{(f3())}', '{\'b\', \'a\', \'c\'}']
const OTHERS = ['nil', 'true', 'false', 'function () end', 'f3', 'undefinedName', 'string.len', 'cjson.null', 'redis.pcall(\'PING\')', 'redis.call(\'GET\', \'k\')']

/** @param {string} text @returns {string} a literal of Lua */
export const quoteLua = (text) => `'${text.replace(/[^ -&(-[\]-~]/g, (c) => `\\${String(c.charCodeAt(0)).padStart(3, '0')}`)}'`

const PER_SCRIPT = 12
const CLASSES = 'acdlpsuwxzACDLPSUWXZ'
const PIECES = [
  'a', 'b', 'X', '.', '[ab]', '[^a]', '[a-c]', '[%d_]', '[^%s]', '[]a]', '[a-]', '[%a-z]', '[^]', '(', ')', '()', '%1', '%2', '%b()', '%bab',
  '%f[%w]', '%f', '%', '[', '[a', '%.', '%-', '\0', '^', '$', ' ', '(a)', '(.-)', '(%w+)', '%%', '-', '0'
]
const LIBRARY = {
  'string.byte': 'sii', 'string.char': 'iii', 'string.find': 'spib', 'string.match': 'spi', 'string.gsub': 'sprn', 'string.len': 's',
  'string.lower': 's', 'string.upper': 's', 'string.rep': 'sn', 'string.reverse': 's', 'string.sub': 'sii', 'tonumber': 'vn', 'tostring': 'v',
  'type': 'v', 'select': 'nvvv', 'unpack': 'tnn', 'math.floor': 'v', 'math.ceil': 'v', 'math.abs': 'v', 'math.max': 'vvv', 'math.min': 'vvv',
  'math.fmod': 'vv', 'table.concat': 'tsnn', 'table.remove': 'tn', 'table.insert': 'tnv', 'next': 't', 'ipairs': 't', 'assert': 'vv',
  'cjson.encode': 'v', 'cjson.decode': 'j', 'redis.sha1hex': 'v', 'redis.status_reply': 's', 'redis.error_reply': 's', 'redis.call': 'cvv',
  'redis.pcall': 'cvv', 'error': 'en', 'pcall': 'fv', 'table.sort': 't', 'math.sqrt': 'v'
}

/**
 * @param {() => number} random
 * @param {number} count of snippets
 * @returns {string[]} scripts, bytes; most of them have many snippets, because compiling takes longest
 */
export function generateCases (random, count) {
  const below = (/** @type {number} */ n) => Math.floor(random() * n)
  /** @template T @param {ArrayLike<T>} list @returns {T} */
  const pick = (list) => list[below(list.length)]
  /** @param {number} n @param {() => string} make */
  const times = (n, make) => Array.from({ length: Math.floor(n) }, make)
  const string = () => random() < 0.8 ? quoteLua(pick(STRINGS)) : quoteLua(times(below(6), () => pick('abcX01 .-()%\0\xff')).join(''))
  const small = () => String(below(12) - 5)
  const literal = () => pick([string, string, () => pick(NUMBERS), () => pick(NUMBERS), () => small().replace(/^0$/, '#\'\''), () => pick(TABLES), () => pick(OTHERS)])()
  const pattern = () => quoteLua((random() < 0.2 ? '^' : '') + times(1 + below(5), () =>
    (random() < 0.4 ? `%${pick(CLASSES)}` : pick(PIECES)) + (random() < 0.4 ? pick('*+-?') : '')).join('') + (random() < 0.2 ? '$' : ''))
  const subject = () => random() < 0.2 ? string() : quoteLua(times(below(12), () => pick('aabbXc01_ .()\n\0\x80%-')).join(''))
  const replacement = () => pick([
    () => quoteLua(times(below(4), () => pick(['%0', '%1', '%2', '%%', 'z', '<', '%', '%9'])).join('')),
    () => '{a = \'1\', b = false, X = 2}', () => 'function (...) return show(...) end', () => 'function () end', () => '{a = {}}', literal
  ])()

  /** @type {Record<string, () => string>} */
  const arguments_ = {
    s: () => random() < 0.9 ? (random() < 0.5 ? subject() : string()) : literal(),
    p: () => random() < 0.97 ? pattern() : literal(),
    i: () => random() < 0.8 ? small() : literal(),
    n: () => random() < 0.8 ? small() : pick(['1.9', '\'2\'', '-1.5', 'nil', 'true', '{}', '16', '36', '8', '37', '300']),
    b: () => pick(['true', 'false', 'nil', '1']),
    r: replacement,
    v: () => expression(1),
    // a table without `err` ends Redis 7.0
    e: () => pick([string, () => pick(NUMBERS), () => 'nil', () => 'true', () => '{err = \'E x\'}'])(),
    t: () => random() < 0.9 ? pick(TABLES) : literal(),
    c: () => random() < 0.9 ? pick(['\'ECHO\'', '\'PING\'', '\'GET\'', '\'HMGET\'', '\'FOO\'']) : literal(),
    f: () => pick(['f3', 'error', 'nil', 'function (a) return a .. 1 end', 'redis.call']),
    j: () => quoteLua(json(3))
  }
  const format = () => {
    const conversions = times(1 + below(2), () =>
      `%${times(below(3), () => pick('-+ #0')).join('')}${random() < 0.4 ? below(25) : ''}${random() < 0.4 ? `.${random() < 0.8 ? below(20) : ''}` : ''}${pick('dicouxXeEfgGqs%sdgf5yn')}`)
    return `string.format(${quoteLua(conversions.join('|'))}, ${times(1 + below(2), () => random() < 0.7 ? pick(NUMBERS) : literal()).join(', ')})`
  }
  /** Of several keys, the order is not compared. */
  const json = (/** @type {number} */ depth, keys = 3) => {
    /** @type {string} */
    const text = pick([
      () => pick(['1', '-1.5e3', '0x10', '01', '1.', '.5', 'inf', '-inf', 'Infinity', 'true', 'false', 'null', 'nul', 'tru', '+1', '-', '1e', '1e400', 'nan', '12345678901234567890']),
      () => `"${times(below(4), () => pick(['a', '\\n', '\\/', '\\u0041', '\\u00e9', '\\ud83d\\ude00', '\\ud83d', '\\udc00', '\\u12', '\\x', '\xe9', '\0', '\\"', '\t'])).join('')}"`,
      () => depth > 0 ? `[${times(below(3), () => json(depth - 1, keys)).join(pick([',', ', ', ' ,']))}]` : '[]',
      () => depth > 0 ? `{${times(below(keys), () => `"${pick('axb')}":${json(depth - 1, keys)}`).join(',')}}` : '{}'
    ])()
    return random() < 0.08 ? text.slice(0, below(text.length)) + pick(['', ',', '}', ']', ' ', '"', '\0', ':', 'x']) : text
  }
  const libraryCall = () => {
    const [name, kinds] = pick(Object.entries(LIBRARY))
    // pcall without a function has no sense in Redis
    const given = random() < 0.8 || name === 'pcall' ? [...kinds] : [...kinds].slice(0, below(kinds.length + 1))
    return `${name}(${given.map((kind) => arguments_[kind]()).join(', ')})`
  }
  /** @type {(depth: number) => string} */
  const expression = (depth) => {
    if (depth <= 0) return literal()
    const part = () => expression(depth - 1)
    return pick([
      literal, libraryCall, format, libraryCall,
      () => `(${part()} ${pick(['+', '-', '*', '/', '%', '^'])} ${part()})`,
      () => `(${pick(NUMBERS)} ${pick(['+', '-', '*', '/', '%'])} ${pick(NUMBERS)})`,
      () => `(${part()} .. ${part()})`,
      () => `(${part()} ${pick(['==', '~=', '<', '>', '<=', '>='])} ${part()})`,
      () => `select(1, (${part()} ${pick(['and', 'or'])} ${part()}))`,
      () => `(not ${part()})`, () => `(- ${part()})`, () => `#(${part()})`,
      () => `(${part()})[${part()}]`, () => `(${part()}).${pick('axe')}`, () => `(${string()}):${pick(['upper', 'len', 'rep', 'foo'])}(${small()})`,
      () => `v${below(3)}`, () => `v${below(3)}.x`, () => `v${below(3)}()`, () => `v${below(3)} + 1`, () => `'a' .. v${below(3)}`
    ])()
  }
  const HEAD = 'local v0, v1, v2 = nil, {}, \'5\' local function f3 (...) return 1, ..., nil end '
  /**
   * A table with holes that gets and loses items, with the length after each step. Only items of its array are removed:
   * which node Lua uses again in a hash part depends on its hash function.
   */
  const lengths = () => {
    const steps = pick([
      [() => `t[${1 + below(9)}] = ${below(40)}`, () => 't[#t + 1] = 0', () => 'table.insert(t, 7)', () => `t.${pick('abcdefgh')} = 1`],
      [() => `t[${1 + below(4)}] = nil`, () => `t[${1 + below(4)}] = 3`, () => 'table.remove(t)']
    ])
    return `local t = {${times(4 + below(14), () => pick(['1', '2', 'nil'])).join(', ')}, 9} local out = {} ${
      times(2 + below(14), () => `${pick(steps)()} out[#out + 1] = #t`).join(' ')} return table.concat(out, ' ')`
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
      () => `log(${value()}, ${value()})`, () => `${name()} = {${value()}, f3(${value()})}`,
      ...depth <= 0 ? [] : [
        () => `if ${value()} then ${body()} elseif ${value()} then ${body()} else ${body()} end`,
        () => `for i = ${small()}, ${small()}${random() < 0.4 ? `, ${pick(['1', '2', '-1', '0.5'])}` : ''} do log(i) ${body()} if i == 2 then break end end`,
        () => `for i, v in ipairs({${value()}, ${value()}, ${value()}}) do log(i, v) ${body()} end`,
        () => `for w in string.gmatch(${subject()}, ${pattern()}) do log(w) end`,
        () => `do local n = 0 while n < 3 do n = n + 1 ${body()} end end`,
        () => `do local n = 0 repeat n = n + 1 local m = n ${body()} until m > 2 end`,
        () => `${name()} = function (a, ...) ${body()} return a, ... end`, () => `local function ${name()} (...) ${body()} log(...) end`,
        () => `log(pcall(${name()}, ${value()}))`, () => `log(select('#', f3(${value()})), (f3(${value()})))`,
        () => `do local fs = {} for i = 1, 3 do fs[i] = function () i = i + 1 return i end end log(fs[1](), fs[1](), fs[2]()) end`,
        () => `log(${name()}.x,\n${value()},\n${name()}(2)\n)`
      ]
    ])()
  }
  const program = () =>
    `local a, b, c = 1, 'x', {} local out = {} local function log (...) out[#out + 1] = show(...) end
${times(2 + below(5), () => statement(2)).join('\n')}
return unpack(out)`
  const snippets = [
    () => `return ${expression(2)}`, () => `return ${libraryCall()}`, () => `return ${format()}`,
    () => `return ${pick(['string.find', 'string.match'])}(${subject()}, ${pattern()})`,
    () => `return string.gsub(${subject()}, ${pattern()}, ${replacement()})`,
    () => `return cjson.encode(cjson.decode(${quoteLua(json(3, 2))}))`, () => `return cjson.decode(${quoteLua(json(3))})`,
    lengths, program
  ]
  const guarded = () => `return {${times(PER_SCRIPT, () => `\nshow(pcall(function () ${pick(snippets)()} end))`).join(',')}}`
  /** Its error, or its reply, is that of the script. */
  const single = () => `\n${pick([program, () => `return ${expression(1)}`])()}`
  return [
    ...times(count * 0.9 / PER_SCRIPT, guarded), ...times(count * 0.1, single)
  ].map((script) => `${SHOW}${HEAD}${script}`)
}
