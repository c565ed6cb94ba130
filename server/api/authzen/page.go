package authzen

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// maxPage is how many results a page has at most.
const maxPage = 1000

// page is the part of a search that a request asks for.
type page struct {
	limit int
	// after is the last id of the page before, empty for the first page.
	after string
	// request identifies the search without its page.
	request string
}

// pageOf reads the page of a search for a tuple. A token is valid for the search that it
// was made for, by any revision: it names the last id.
func pageOf(body decision.Value, t *tuple) (page, *exchange.Refusal) {
	p := page{limit: maxPage, request: t.hash()}
	var f exchange.Reader
	for key, member := range body.Members() {
		if key != "page" {
			continue
		}
		object := f.Object(key, member)
		f.Under = "page."
		for key, member := range object.Members() {
			switch {
			case member.IsNull():
			case key == "limit":
				limit, err := strconv.Atoi(member.String())
				if err != nil || limit < 1 {
					f.Refuse(key, "a positive integer")
				}
				p.limit = min(limit, maxPage)
			case key == "token":
				p.readToken(&f, f.Text(key, member))
			}
		}
	}
	return p, f.Refused
}

// token returns the token of the page after an id.
func (p *page) token(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.request + last))
}

func (p *page) readToken(f *exchange.Reader, token string) {
	if token == "" {
		return // the first page
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(text), p.request)
	if err != nil || !ok {
		f.Refuse("token", "a token of this search")
		return
	}
	p.after = after
}

// hash identifies a tuple, however its JSON is written.
func (t *tuple) hash() string {
	var b []byte
	for _, part := range []decision.Value{t.subject, t.action, t.resource, t.context} {
		b = append(decision.AppendValue(b, part.Any()), '\n')
	}
	sum := sha256.Sum256(b)
	return string(sum[:12])
}
