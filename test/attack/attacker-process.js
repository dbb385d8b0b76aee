/**
 * The attacker, in a process of its own. Arguments: the attack's name and its target (wire.js) as
 * JSON. The process reports the bytes sent, and keeps its connections open until its parent ends it.
 */
import { constants, setPriority } from 'node:os'
import { ADMITTED, ONE_USER } from './admitted.js'
import { ANONYMOUS, COMPRESSED, SECURE } from './anonymous.js'
import { CALLERS } from './callers.js'
import { BETWEEN_WORKERS, DOORS } from './doors.js'
import { GRPC } from './grpc.js'

const [, , name, target] = process.argv
const attack = {
  ...ANONYMOUS, ...COMPRESSED, ...SECURE, ...ADMITTED, ...ONE_USER, ...CALLERS, ...GRPC, ...DOORS, ...BETWEEN_WORKERS
}[name]
// on a small machine the attacker would take the cores of the gateway and the witnesses
setPriority(constants.priority.PRIORITY_LOW)
process.on('disconnect', () => process.exit(0))
const { connections, bytes } = await attack(JSON.parse(target))
process.send?.({ connections, bytes })
