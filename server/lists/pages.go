package lists

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// ErrExpired is returned for a cursor if this process does not keep its list: the list has
// expired, or another process made the cursor.
var ErrExpired = errors.New("the cursor has expired, or another replica made it: ask for the first page again")

// Pages keep lists for the pages that are still to come, each for its owner alone. Now is
// required. They are safe for concurrent use.
type Pages struct {
	Now  func() time.Time
	kept store[*kept]
}

// kept is a list of which pages are still to come.
type kept struct {
	id, owner string
	question  string
	list      *List
}

// Part is a page of a list.
type Part struct {
	*List
	// Items are those of the page, from Offset on.
	Items  []Item
	Offset int
	// Next is the cursor of the rest, empty at the end.
	Next string
}

// First returns the first page of a list, of at most limit items; zero is all. question is
// what the owner must ask again for the pages that follow.
func (p *Pages) First(owner, question string, l *List, limit int) Part {
	if limit == 0 || len(l.Items) <= limit {
		return Part{List: l, Items: l.Items}
	}
	k := &kept{rand.Text(), owner, question, l}
	p.kept.put(k.id, k, len(l.Items), maxKept, p.Now())
	return k.part(0, limit)
}

// Next returns the page at a cursor that a page before had. The error is ErrExpired.
func (p *Pages) Next(owner, question, cursor string, limit int) (Part, error) {
	id, offset, ok := parseCursor(cursor)
	if !ok {
		return Part{}, ErrExpired
	}
	k, found := p.kept.get(id, p.Now(), func(k *kept) bool {
		return k.owner == owner && k.question == question && offset < len(k.list.Items)
	})
	if !found {
		return Part{}, ErrExpired
	}
	return k.part(offset, cmp.Or(limit, len(k.list.Items))), nil
}

// Revision returns the revision of the list that a cursor belongs to, nil if it is not kept.
func (p *Pages) Revision(cursor string) *decision.Loaded {
	id, _, _ := parseCursor(cursor)
	if k, found := p.kept.get(id, p.Now(), func(*kept) bool { return true }); found {
		return k.list.Of
	}
	return nil
}

func (k *kept) part(offset, limit int) Part {
	end := min(offset+limit, len(k.list.Items))
	out := Part{List: k.list, Items: k.list.Items[offset:end], Offset: offset}
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
