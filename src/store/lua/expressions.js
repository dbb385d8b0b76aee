/** @typedef {import('./parse.js').Node} Node */
/** @typedef {{ code: string, level: number }} Local name in JavaScript, and depth of the function that has it */
/**
 * @typedef {object} Known
 * @property {Map<string, unknown>} globals with the members of libraries by their path
 * @property {Set<string>} many paths of functions that do not return exactly one value
 * @property {string[]} helpers functions for generated code
 */

/** What Redis has, and no script of inkcast uses: refused when a script is loaded. */
const REFUSED = new Set([
  'bit', 'cmsgpack', 'collectgarbage', 'coroutine', 'gcinfo', 'getmetatable', 'load', 'loadstring', 'os', 'rawequal',
  'rawget', 'rawset', 'struct', 'xpcall', '_G', '_VERSION'
])

/** @type {Record<string, string>} */
const ARITHMETIC = {
  '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide', '%': 'modulo', '^': 'power', '..': 'concat'
}
/** @type {Record<string, string>} */
const COMPARISONS = { '<': 'less', '<=': 'atMost', '>': 'greater', '>=': 'atLeast' }
const CALLS = new Set(['CallExpression', 'StringCallExpression', 'TableCallExpression'])

/** A construct that is refused. */
export class Refusal extends Error {
  /** @param {Node} node @param {string} what */
  constructor (node, what) {
    super(`the built-in store does not know ${what}`)
    this.line = node.loc.start.line
  }
}

/** The size that the instruction for a new table has room for. @param {number} count */
function roundedSize (count) {
  let scale = 1
  for (; count >= 16; scale *= 2) count = (count + 1) >> 1
  return count * scale
}

/**
 * Writes JavaScript for expressions, in the order and in the lines of their source: errors tell the line. Values of Lua
 * are those of values.js. A function returns one value, or an array of several or none; `t` holds a value for a moment.
 */
export class Expressions {
  code = ''
  line = 1
  names = 0
  /** @type {Map<string, Local>[]} */
  scopes = []
  /** Names of the variable arguments of each function around, '' if it has none. @type {string[]} */
  varargs = []
  /** Names of constants by their path. @type {Map<string, string>} */
  constants = new Map()

  /** @param {Known} known @param {(node: Node, alone: boolean) => boolean} inParentheses */
  constructor (known, inParentheses) {
    this.known = known
    this.inParentheses = inParentheses
  }

  /** @param {string} code @param {number} [line] of the script */
  write (code, line = 0) {
    if (line > this.line) {
      this.code += '\n'.repeat(line - this.line)
      this.line = line
    }
    this.code += code
  }

  /** A name that nothing else has. @param {string} [name] */
  fresh (name = '') {
    return `$${name}_${++this.names}`
  }

  /** @param {string} name of Lua @param {string} code name in JavaScript */
  declare (name, code) {
    this.scopes[this.scopes.length - 1].set(name, { code, level: this.varargs.length })
  }

  /** @param {string} name */
  find (name) {
    return this.scopes.findLast((scope) => scope.has(name))?.get(name)
  }

  /** The variable arguments of the current function. @param {Node} node */
  rest (node) {
    const rest = this.varargs[this.varargs.length - 1]
    if (!rest) throw new Refusal(node, 'the arguments of a script: there are none')
    return rest
  }

  /**
   * Whether an expression may have several values, or none.
   * @param {Node} node
   * @param {boolean} [alone] as the only argument of a call
   */
  isMany (node, alone = false) {
    if (node.type !== 'VarargLiteral' && !CALLS.has(node.type)) return false
    const path = CALLS.has(node.type) ? this.path(node.base) : undefined
    return (path === undefined || this.known.many.has(path)) && !this.inParentheses(node, alone)
  }

  /** Values of a list: its last expression may have several. @param {Node[]} nodes @param {boolean} [ofCall] */
  list (nodes, ofCall = false) {
    nodes.forEach((node, i) => {
      if (i > 0) this.write(', ')
      if (i < nodes.length - 1 || !this.isMany(node, ofCall && nodes.length === 1)) return this.expression(node)
      this.write('...')
      this.all(node)
    })
  }

  /** All values of an expression that may have several, as an array. @param {Node} node */
  all (node) {
    if (node.type === 'VarargLiteral') return this.write(this.rest(node))
    this.write('all(')
    this.call(node)
    this.write(')')
  }

  /** The value that a function returns for one expression. @param {Node} node */
  raw (node) {
    if (!this.isMany(node)) this.expression(node)
    else if (node.type === 'VarargLiteral') this.all(node)
    else this.call(node)
  }

  /** An expression with one value. @param {Node} node */
  expression (node) {
    const { line } = node.loc.start
    this.write('', line)
    switch (node.type) {
      case 'NilLiteral': return this.write('undefined')
      case 'BooleanLiteral': return this.write(String(node.value))
      case 'NumericLiteral': return this.write(String(node.value))
      case 'StringLiteral': return this.write(JSON.stringify(node.value))
      case 'VarargLiteral': return this.write(`${this.rest(node)}[0]`)
      case 'Identifier': return this.identifier(node)
      case 'FunctionDeclaration': return this.function(node)
      case 'TableConstructorExpression': return this.table(node)
      case 'MemberExpression': case 'IndexExpression': return this.index(node)
      case 'CallExpression': case 'StringCallExpression': case 'TableCallExpression': {
        const path = this.path(node.base)
        if (path !== undefined && !this.known.many.has(path)) return this.call(node)
        this.write('first(')
        this.call(node)
        return this.write(')')
      }
      case 'LogicalExpression':
        this.write('((t = ', line)
        this.expression(node.left)
        this.write(node.operator === 'or' ? ') !== undefined && t !== false ? t : ' : ') === undefined || t === false ? t : ')
        this.expression(node.right)
        return this.write(')')
      case 'UnaryExpression': return this.unary(node)
      case 'BinaryExpression': return this.binary(node)
    }
    throw new Refusal(node, node.type)
  }

  /** @param {Node} node */
  unary ({ operator, argument, loc }) {
    if (operator === 'not') return this.condition('!(', argument, ')')
    this.write(operator === '#' ? 'length(' : 'negate(', loc.start.line)
    this.expression(argument)
    this.write(`${this.name(argument)})`)
  }

  /** @param {Node} node */
  binary ({ operator, left, right, loc }) {
    if (operator === '==' || operator === '~=') {
      this.write('(')
      this.expression(left)
      this.write(operator === '==' ? ' === ' : ' !== ')
      this.expression(right)
      return this.write(')')
    }
    this.write(`${ARITHMETIC[operator] ?? COMPARISONS[operator]}(`, loc.start.line)
    this.expression(left)
    this.write(', ')
    this.expression(right)
    if (ARITHMETIC[operator] && (this.name(left) || this.name(right))) {
      this.write(`${this.name(left) || ', undefined'}${this.name(right)}`)
    }
    this.write(')')
  }

  /** An expression as a condition of JavaScript. @param {string} before @param {Node} node @param {string} after */
  condition (before, node, after) {
    this.write(before)
    if (node.type === 'LogicalExpression') {
      this.condition('(', node.left, node.operator === 'or' ? ' || ' : ' && ')
      this.condition('', node.right, ')')
    } else if ((node.type === 'BinaryExpression' && !ARITHMETIC[node.operator]) || node.operator === 'not' ||
      node.type === 'BooleanLiteral') {
      this.expression(node)
    } else {
      this.write('isTrue(')
      this.expression(node)
      this.write(')')
    }
    this.write(after)
  }

  /** @param {Node} node */
  identifier ({ name, loc }) {
    const local = this.find(name)
    if (local) this.write(local.code)
    else if (name === 'KEYS' || name === 'ARGV') this.write(name)
    else if (this.known.globals.has(name)) this.constant(name)
    else if (REFUSED.has(name)) throw new Refusal({ loc }, name)
    else this.write(`nonexistent(${JSON.stringify(name)})`, loc.start.line)
  }

  /** @param {string} path */
  constant (path) {
    const name = this.constants.get(path) ?? `$$${this.constants.size}`
    this.constants.set(path, name)
    this.write(name)
  }

  /** Path of a global function or of a member of a library, which no script can replace. @param {Node} node */
  path (node) {
    const { base } = node
    if (node.type === 'Identifier') return this.find(node.name) || !this.known.globals.has(node.name) ? undefined : node.name
    if (node.type !== 'MemberExpression' || base.type !== 'Identifier' || this.find(base.name)) return
    const path = `${base.name}.${node.identifier.name}`
    if (this.known.globals.has(path)) return path
    if (this.known.globals.has(base.name)) throw new Refusal(node, path)
  }

  /** @param {Node} node a member, or an index */
  key ({ type, identifier, index }) {
    if (type === 'MemberExpression') this.write(JSON.stringify(identifier.name))
    else this.expression(index)
  }

  /** @param {Node} node */
  index (node) {
    const path = this.path(node)
    if (path !== undefined) return this.constant(path)
    this.write('index(', node.loc.start.line)
    this.expression(node.base)
    this.write(', ')
    this.key(node)
    this.write(`${this.name(node.base)})`)
  }

  /** A call with all that it returns. @param {Node} node */
  call (node) {
    const { base } = node
    const args = node.arguments ?? [node.argument]
    const path = this.path(base)
    // the line of a call is that of its arguments' parenthesis
    if (path !== undefined) {
      this.write('', base.loc.end.line)
      this.constant(path)
      this.write('(')
    } else if (base.indexer === ':') {
      this.write('callable(index((t = ')
      this.expression(base.base)
      this.write(`), ${JSON.stringify(base.identifier.name)}${this.name(base.base)})${this.name(base)})`)
      this.write(`(t${args.length > 0 ? ', ' : ''}`, base.loc.end.line)
    } else {
      this.write('callable(', base.loc.start.line)
      this.expression(base)
      this.write(`${this.name(base)})`)
      this.write('(', base.loc.end.line)
    }
    this.list(args, true)
    this.write(')')
  }

  /** @param {Node} node */
  table ({ fields, loc }) {
    const items = fields.filter((/** @type {Node} */ { type }) => type === 'TableValue').length
    const last = fields[fields.length - 1]
    const many = last?.type === 'TableValue' && this.isMany(last.value)
    const size = roundedSize(many ? items - 1 : items)
    if (items === fields.length) {
      this.write('list([', loc.start.line)
      this.list(fields.map((/** @type {Node} */ { value }) => value))
      return this.write(`], ${size})`)
    }
    this.write(`build(${size}, ${roundedSize(fields.length - items)}, [`, loc.start.line)
    fields.forEach((/** @type {Node} */ { type, key, value }, /** @type {number} */ i) => {
      if (i > 0) this.write(', ')
      if (type === 'TableValue') this.write('NONE')
      else if (type === 'TableKeyString') this.write(JSON.stringify(key.name))
      else this.expression(key)
      this.write(', ')
      if (value === last.value && many) this.all(value)
      else this.expression(value)
    })
    this.write(`], ${many})`)
  }

  /**
   * The name that errors give an expression.
   * @param {Node} node
   * @returns {string} a string of JavaScript behind a comma; '' if it has no name
   */
  name (node) {
    const local = node.type === 'Identifier' ? this.find(node.name) : undefined
    let name
    if (local) name = `${local.level === this.varargs.length ? 'local' : 'upvalue'} '${node.name}'`
    else if (node.type === 'Identifier') name = `global '${node.name}'`
    else if (node.type === 'MemberExpression') name = `${node.indexer === ':' ? 'method' : 'field'} '${node.identifier.name}'`
    else if (node.type === 'IndexExpression') name = `field '${node.index.type === 'StringLiteral' ? node.index.value.split('\0')[0] : '?'}'`
    return name === undefined ? '' : `, ${JSON.stringify(name)}`
  }

  /** @param {Node} node @param {boolean} [hasSelf] */
  function ({ parameters, body, loc }, hasSelf = false) {
    this.scopes.push(new Map())
    const names = hasSelf ? ['self'] : []
    let rest = ''
    for (const { type, name } of parameters) {
      if (type === 'VarargLiteral') rest = this.fresh()
      else names.push(name)
    }
    this.varargs.push(rest)
    const codes = names.map((name) => {
      const code = this.fresh(name)
      this.declare(name, code)
      return code
    })
    this.write(`function (${[...codes, ...rest ? [`...${rest}`] : []].join(', ')}) {let t; step(); `, loc.start.line)
    this.block(body)
    this.write('return NONE}')
    this.varargs.pop()
    this.scopes.pop()
  }

  /** Is that of the class for statements. @param {Node[]} _body */
  block (_body) {}
}
