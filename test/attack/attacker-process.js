/**
 * The attacker, in a process of its own. Argument: the attack's name. The process reports that it has loaded, gets its
 * target (wire.js), reports the bytes sent, and keeps its connections open until its parent ends it.
 */
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { ADMITTED, ONE_USER } from './admitted.js'
import { ANONYMOUS, COMPRESSED, SECURE } from './anonymous.js'
import { CALLERS } from './callers.js'
import { BETWEEN_WORKERS, DOORS } from './doors.js'
import { GRPC } from './grpc.js'
import { PLAIN_ADMITTED, PLAIN_ANONYMOUS } from './plain.js'

const [, , name] = process.argv
const attack = {
  ...ANONYMOUS, ...COMPRESSED, ...SECURE, ...ADMITTED, ...ONE_USER, ...CALLERS, ...GRPC, ...DOORS, ...BETWEEN_WORKERS,
  ...PLAIN_ANONYMOUS, ...PLAIN_ADMITTED
}[name]
// on a small machine the attacker would take the cores of the gateway and the witnesses
setPriority(constants.priority.PRIORITY_LOW)
process.on('disconnect', () => process.exit(0))
process.send?.('loaded')
const [target] = await once(process, 'message')
const { connections, bytes } = await attack(target)
process.send?.({ connections, bytes })
