/**
 * The attacker, in a process of its own. Arguments: the kind of attacker, the attack's name and its target (wire.js) as
 * JSON. The process reports the bytes sent, and keeps its connections open until its parent ends it.
 */
import { ADMITTED } from './admitted.js'
import { ANONYMOUS, SECURE } from './anonymous.js'

const [, , who, name, target] = process.argv
const attack = (who === 'anybody' ? { ...ANONYMOUS, ...SECURE } : ADMITTED)[name]
process.on('disconnect', () => process.exit(0))
const { connections, bytes } = await attack(JSON.parse(target))
process.send?.({ connections, bytes })
