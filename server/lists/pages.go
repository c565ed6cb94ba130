package lists

import (
	"cmp"
	"container/list"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of what Pages keep.
const (
	keptFor      = 60 * time.Second // after the last page
	maxKept      = 256              // lists
	maxKeptItems = 2_000_000
)

// ErrExpired is returned for a cursor if this process does not keep its list: the list has
// expired, or another process made the cursor.
var ErrExpired = errors.New("the cursor has expired, or another replica made it: ask for the first page again")

// Pages keep lists for the pages that are still to come, each for its owner alone. Now is
// required. They are safe for concurrent use.
type Pages struct {
	Now func() time.Time

	mu    sync.Mutex
	byID  map[string]*list.Element
	order list.List // of *kept, the one that ends first in front
	items int
}

// kept is a list of which pages are still to come.
type kept struct {
	id, owner string
	question  string
	list      *List
	ends      time.Time
}

// Part is a page of a list.
type Part struct {
	*List
	// Items are those of the page.
	Items []Item
	// Next is the cursor of the rest, empty at the end.
	Next string
}

// First returns the first page of a list, of at most limit items; zero is all. question is
// what the owner must ask again for the pages that follow.
func (p *Pages) First(owner, question string, l *List, limit int) Part {
	if limit == 0 || len(l.Items) <= limit {
		return Part{List: l, Items: l.Items}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = make(map[string]*list.Element)
	}
	k := &kept{id: rand.Text(), owner: owner, question: question, list: l, ends: p.Now().Add(keptFor)}
	p.byID[k.id] = p.order.PushBack(k)
	p.items += len(l.Items)
	for p.order.Len() > 1 && (p.order.Len() > maxKept || p.items > maxKeptItems) {
		p.drop(p.order.Front())
	}
	return k.part(0, limit)
}

// Next returns the page at a cursor that a page before had. The error is ErrExpired.
func (p *Pages) Next(owner, question, cursor string, limit int) (Part, error) {
	id, offset, ok := parseCursor(cursor)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	for first := p.order.Front(); first != nil && !now.Before(first.Value.(*kept).ends); first = p.order.Front() {
		p.drop(first)
	}
	at := p.byID[id]
	if !ok || at == nil {
		return Part{}, ErrExpired
	}
	k := at.Value.(*kept)
	if k.owner != owner || k.question != question || offset >= len(k.list.Items) {
		return Part{}, ErrExpired
	}
	k.ends = now.Add(keptFor)
	p.order.MoveToBack(at)
	return k.part(offset, cmp.Or(limit, len(k.list.Items))), nil
}

func (p *Pages) drop(at *list.Element) {
	k := p.order.Remove(at).(*kept)
	delete(p.byID, k.id)
	p.items -= len(k.list.Items)
}

func (k *kept) part(offset, limit int) Part {
	end := min(offset+limit, len(k.list.Items))
	out := Part{List: k.list, Items: k.list.Items[offset:end]}
	if end < len(k.list.Items) {
		out.Next = base64.RawURLEncoding.EncodeToString([]byte(k.id + "." + strconv.Itoa(end)))
	}
	return out
}

func parseCursor(cursor string) (id string, offset int, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", 0, false
	}
	id, number, ok := strings.Cut(string(text), ".")
	offset, err = strconv.Atoi(number)
	return id, offset, ok && err == nil && offset > 0
}
