import { runRole } from './role.js'
import { composeIngest } from './roles/ingest.js'

await runRole('ingest', composeIngest)
