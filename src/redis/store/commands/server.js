import { Verbatim } from '../resp/replies.js'
import { info } from '../info.js'

/** @type {Record<string, import('./command.js').Command>} */
export const server = {
  info: { arity: -1, run: ({ store }, [, ...sections]) => new Verbatim(info(store, sections)) },
  time: {
    arity: 1,
    run: ({ now }) => [String(Math.floor(now / 1000)), String(Math.floor((now % 1000) * 1000))]
  }
}
