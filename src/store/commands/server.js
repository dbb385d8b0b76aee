import { ErrorReply, MapReply, OK, Verbatim } from '../resp/replies.js'
import { info } from '../info.js'
import { SYNTAX_ERROR } from './command.js'
import { matches } from './glob.js'

/** @type {Record<string, number>} */
const UNITS = { '': 1, b: 1, k: 1e3, kb: 1024, m: 1e6, mb: 1024 ** 2, g: 1e9, gb: 1024 ** 3 }

/** @type {Record<string, (text: string) => number>} what can be set; NaN: not with this value */
const SETTINGS = {
  maxmemory (text) {
    const [, digits, unit] = /^(\d+)([a-z]*)$/i.exec(text) ?? []
    return Number(digits) * (UNITS[unit?.toLowerCase()] ?? Number.NaN)
  },
  maxclients: (text) => /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN
}

/** @type {Record<string, string>} */
const PROBLEMS = {
  maxmemory: 'argument must be a memory value',
  maxclients: 'argument couldn\'t be parsed into an integer'
}

/** @type {Record<string, import('./command.js').Command>} */
const configCommands = {
  get: {
    arity: -3,
    run ({ store }, [, , ...patterns]) {
      const all = Object.entries({ ...store.config, 'maxmemory-policy': 'noeviction' })
      const some = all.filter(([name]) => patterns.some((pattern) => matches(pattern.toLowerCase(), name)))
      return new MapReply(some.flatMap(([name, value]) => [name, String(value)]))
    }
  },
  set: {
    arity: -4,
    run ({ store }, [, , ...settings]) {
      if (settings.length % 2 === 1) throw new ErrorReply(SYNTAX_ERROR)
      /** @type {Record<string, number>} */
      const changes = {}
      for (let i = 0; i < settings.length; i += 2) {
        const name = settings[i].toLowerCase()
        if (!Object.hasOwn(SETTINGS, name))
          throw new ErrorReply(`ERR Unknown option or number of arguments for CONFIG SET - '${settings[i]}'`)
        changes[name] = SETTINGS[name](settings[i + 1])
        if (Number.isNaN(changes[name]))
          throw new ErrorReply(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${PROBLEMS[name]}`)
      }
      Object.assign(store.config, changes)
      return OK
    }
  }
}

/** @type {import('./command.js').Command} */
const noCluster = {
  arity: 2,
  run () { throw new ErrorReply('ERR This instance has cluster support disabled') }
}

/** @type {Record<string, import('./command.js').Command>} */
export const server = {
  info: { arity: -1, run: ({ store }, [, ...sections]) => new Verbatim(info(store, sections)) },
  time: {
    arity: 1,
    run: ({ now }) => [String(Math.floor(now / 1000)), String(Math.floor((now % 1000) * 1000))]
  },
  config: { arity: -2, noScript: true, run () {}, subcommands: configCommands },
  cluster: {
    arity: -2,
    run () {},
    subcommands: Object.fromEntries(['info', 'nodes', 'shards', 'slots'].map((name) => [name, noCluster]))
  }
}
