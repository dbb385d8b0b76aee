/**
 * The attacker, in a process of its own. Arguments: who attacks, the attack's name and its target (wire.js) as JSON;
 * tells what it has sent, and keeps the lines that it has open until its parent lets it go.
 */
import { ADMITTED } from './admitted.js'
import { ANONYMOUS, SECURE } from './anonymous.js'

const [, , who, name, target] = process.argv
const attack = (who === 'anybody' ? { ...ANONYMOUS, ...SECURE } : ADMITTED)[name]
process.on('disconnect', () => process.exit(0))
const { connections, bytes } = await attack(JSON.parse(target))
process.send?.({ connections, bytes })
