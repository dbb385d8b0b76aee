import { testReact } from './react/suite.js'

// the dependencies of this repository have it; the ring nightly runs the suite with React 18
testReact('19', { isWhole: true })
