import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { InkcastProvider } from 'inkcast-react'
import { List } from './list.jsx'

const url = new URLSearchParams(location.search).get('gateway') ?? 'http://localhost:3000'

createRoot(document.getElementById('root')).render(
  <StrictMode><InkcastProvider url={url}><List guid='list' /></InkcastProvider></StrictMode>
)
