import { ErrorReply } from '../resp/replies.js'
import { clients } from './clients.js'
import { hashes } from './hashes.js'
import { keys } from './keys.js'
import { lists } from './lists.js'
import { pubsub } from './pubsub.js'
import { scripting } from './scripting.js'
import { server } from './server.js'
import { sets } from './sets.js'
import { sortedSets } from './sorted-sets.js'
import { streams } from './streams.js'
import { strings } from './strings.js'

/** @typedef {import('./command.js').Command} Command */

/** @type {Map<string, Command>} */
const COMMANDS = new Map(Object.entries({
  ...clients,
  ...hashes,
  ...keys,
  ...lists,
  ...pubsub,
  ...scripting,
  ...server,
  ...sets,
  ...sortedSets,
  ...streams,
  ...strings
}))

/** Characters of a name, or of arguments, that an error repeats. */
const REPEATED = 128

/** Exported for tests: names of all commands and subcommands, as `findCommand` has them. @returns {string[]} */
export const commandNames = () => [...COMMANDS].flatMap(([name, { subcommands }]) =>
  subcommands === undefined ? [name] : Object.keys(subcommands).map((second) => `${name}|${second}`)).sort()

/** @param {string} text up to a NUL, as C reads it */
const shown = (text) => {
  const end = text.indexOf('\0')
  return (end === -1 ? text : text.slice(0, end)).slice(0, REPEATED)
}

/**
 * @param {string[]} args with the name
 * @returns {{ name: string, command: Command } | undefined} the command or subcommand
 */
export function findCommand (args) {
  const name = args[0].toLowerCase()
  const command = COMMANDS.get(name)
  if (command?.subcommands === undefined || args.length < 2) return command && { name, command }
  const second = args[1].toLowerCase()
  if (!Object.hasOwn(command.subcommands, second)) return undefined
  return { name: `${name}|${second}`, command: command.subcommands[second] }
}

/** @param {string[]} args @returns {ErrorReply} for a command that is not there */
export function unknownCommand (args) {
  const name = args[0].toLowerCase()
  if (COMMANDS.has(name))
    return new ErrorReply(`ERR unknown subcommand '${shown(args[1])}'. Try ${name.toUpperCase()} HELP.`)
  let listed = ''
  for (let i = 1; i < args.length && listed.length < REPEATED; i++)
    listed += `'${shown(args[i]).slice(0, REPEATED - listed.length)}' `
  return new ErrorReply(`ERR unknown command '${shown(args[0])}', with args beginning with: ${listed}`)
}
