// Comfort only: without this file every view works, but for completion, live changes,
// copying, the keyboard and the theme. Navigation is the browser's own.

const root = document.documentElement
const main = document.getElementById('content')
const messages = document.getElementById('messages')
const keyboard = document.getElementById('keyboard')
const html = globalThis.trustedTypes?.createPolicy('writ', { createHTML: text => text }) ?? { createHTML: text => text }

function say(text, milliseconds) {
  messages.textContent = text
  if (milliseconds) setTimeout(() => { if (messages.textContent === text) messages.textContent = '' }, milliseconds)
}

// Buttons

function changeTheme() {
  const dark = getComputedStyle(root).colorScheme === 'dark' ||
    !root.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
  localStorage.setItem('theme', root.dataset.theme)
}

async function copy(id) {
  try {
    await navigator.clipboard.writeText(document.getElementById(id).textContent)
    say('Copied.', 2000)
  } catch {
    say('The browser does not permit copying. Select the text and copy it.', 5000)
  }
}

document.addEventListener('click', event => {
  const button = event.target.closest('button')
  if (button?.id === 'theme') changeTheme()
  if (button?.id === 'keys') keyboard.showModal()
  if (button?.dataset.copy) copy(button.dataset.copy)
  if (button?.id === 'news') {
    button.remove()
    main.focus() // as the button that had the focus is gone
    show(true)
  }
})

// Loading: the old content stays, and says after a moment that it waits.

let waiting
function wait() {
  clearTimeout(waiting)
  waiting = setTimeout(() => main.setAttribute('aria-busy', 'true'), 150)
}
function stopWaiting() {
  clearTimeout(waiting)
  if (!main.dataset.again) main.removeAttribute('aria-busy') // else the answer is being computed
}
document.addEventListener('click', event => {
  const link = event.target.closest('a[href]')
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
  if (!link || !plain || event.defaultPrevented || link.download || link.origin !== location.origin) return
  if (link.pathname + link.search !== location.pathname + location.search) wait()
})
document.addEventListener('submit', event => { if (event.target.method !== 'dialog') wait() })
addEventListener('pageshow', stopWaiting)

// Keyboard

let afterG = 0
const isTyping = element => element?.closest?.('input, select, textarea, [contenteditable]')

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target) || keyboard?.open) return
  const view = Date.now() - afterG < 1500 && document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`)
  afterG = event.key === 'g' ? Date.now() : 0
  if (view) {
    event.preventDefault()
    view.click()
  } else if (event.key === '?' && keyboard) {
    event.preventDefault()
    keyboard.showModal()
  } else if (event.key === '/') {
    const field = main.querySelector('input:not([type=hidden], [readonly]), textarea, select')
    if (!field) return
    event.preventDefault()
    field.focus()
    field.select?.()
  }
})

// Completion. A field with several names completes the last one.

let typing
document.addEventListener('input', event => {
  const field = event.target
  if (!field.dataset?.names) return
  clearTimeout(typing)
  typing = setTimeout(() => complete(field), 120)
})
document.addEventListener('focusin', event => { if (event.target.dataset?.names && !event.target.list.children.length) complete(event.target) })

async function complete(field) {
  const isList = field.dataset.names === 'groups'
  const before = isList ? field.value.slice(0, field.value.lastIndexOf(',') + 1) : ''
  const query = new URLSearchParams({ field: field.dataset.names, prefix: field.value.slice(before.length).trim() })
  try {
    const answer = await fetch('/v1/names?' + query)
    if (!answer.ok) return
    const { names } = await answer.json()
    field.list.replaceChildren(...names.map(name => {
      const option = document.createElement('option')
      option.value = before + name
      return option
    }))
  } catch {
    // The connection is lost; the events say so.
  }
}

// Live changes: the content is replaced when a revision is served or refused. While the
// focus is in it, a button offers that instead, so that nothing moves below a reader.

const hasFocus = () => main !== document.activeElement && main.contains(document.activeElement)

async function load() {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
  if (answer.status === 401) return location.reload()
  const text = html.createHTML(await answer.text())
  return new DOMParser().parseFromString(text, 'text/html').getElementById('content')
}

async function show(always) {
  try {
    const next = await load()
    if (!next || hasFocus() && !always) return
    const open = [...main.querySelectorAll('details')].map(details => details.open)
    main.replaceChildren(...next.childNodes)
    main.querySelectorAll('details').forEach((details, i) => { if (open[i]) details.open = true })
    if (next.dataset.again) return again(next.dataset.again)
    delete main.dataset.again
    stopWaiting()
  } catch {
    // The connection is lost; the events say so.
  }
}

function changed(text) {
  document.getElementById('news')?.remove()
  if (!('live' in main.dataset)) return
  if (!hasFocus()) return show()
  const button = document.createElement('button')
  button.id = 'news'
  button.type = 'button'
  button.className = 'main news'
  button.textContent = text
  document.body.append(button)
}

const digits = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const rates = {
  perSecond: value => digits.format(value),
  cacheHitRatio: (value, values) => values.perSecond ? (100 * value).toFixed(1) : '–',
  p99: value => value ? digits.format(value) : '–',
}

function showRates(event) {
  const values = JSON.parse(event.data)
  for (const place of main.querySelectorAll('[data-rate]')) place.textContent = rates[place.dataset.rate](values[place.dataset.rate], values)
}

const lost = 'Not connected: what is shown may be old.'
let events, served, lastShown = 0

function follow() {
  if (events || document.hidden || !('events' in main.dataset)) return
  events = new EventSource('/v1/events' + ('decisions' in main.dataset ? '?decisions=1' : ''))
  events.onopen = () => { if (messages.textContent === lost) say('') }
  events.onerror = () => {
    say(lost)
    if (events?.readyState !== EventSource.CLOSED) return
    events = undefined
    setTimeout(follow, 5000)
  }
  events.addEventListener('revision', event => {
    const { revision } = JSON.parse(event.data)
    if (revision !== served && served !== undefined) changed(`Show revision ${revision.slice(0, 12)}`)
    served = revision
  })
  events.addEventListener('refused', () => changed('Show the refused documents'))
  events.addEventListener('state', () => changed('Show the new state'))
  events.addEventListener('rates', showRates)
  events.addEventListener('decision', () => refresh(1000))
}

// refresh shows new figures, if none were shown for some time.
function refresh(milliseconds) {
  if (document.hidden || hasFocus() || Date.now() - lastShown < milliseconds) return
  lastShown = Date.now()
  show()
}

function stopFollowing() {
  events?.close()
  events = undefined
}

document.addEventListener('visibilitychange', () => document.hidden ? stopFollowing() : follow())
addEventListener('pagehide', stopFollowing)
addEventListener('pageshow', follow)
served = main.querySelector('.served')?.dataset.revision
if ('figures' in main.dataset) setInterval(() => refresh(10_000), 10_000)

// A view that is being computed asks again.

let asking
function again(seconds) {
  clearTimeout(asking)
  asking = setTimeout(show, 1000 * seconds)
}
if (main.dataset.again) again(main.dataset.again)
main.querySelector('.document [aria-current=true]')?.scrollIntoView?.({ block: 'nearest', inline: 'start' })
const file = main.querySelector('.tree [aria-current=page]'), tree = file?.closest('nav')
if (tree) tree.scrollTop += file.getBoundingClientRect().top - tree.getBoundingClientRect().top - tree.clientHeight / 2
