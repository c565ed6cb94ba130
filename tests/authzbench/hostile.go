package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"time"
)

// hostile is an input, as the file workloads/hostile.yaml states it.
type hostile struct {
	Name                            string
	User, Namespace, Verb, Resource *string
	Upper                           bool // of the user
	Hex                             string
	Body                            *string
	Times                           int
	End                             string
	Twice, Cut                      bool
}

// The outcomes of a hostile input.
const (
	refused, denied, allowedWrong = "refused", "denied", "**ALLOWED**"
	crashed, unanswered, protocol = "**crashed**", "no answer", "no protocol"
)

// try sends the input in the place of a question that is allowed, and asks that one again.
func (s *session) try(h *hostile, q *question) string {
	asked, edit := s.apply(h, q)
	allowed, err := s.decideEdited(asked, edit)
	outcome := denied
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errNotOffered):
		return protocol
	case err == nil && allowed && h.Twice:
		outcome = "the last counts"
	case err == nil && h.Twice:
		outcome = "the first counts"
	case err == nil && allowed:
		outcome = allowedWrong
	case errors.As(err, &timeout) && timeout.Timeout():
		outcome = unanswered
	case err != nil:
		outcome = refused
	}
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		if allowed, err := s.decide(q); allowed && err == nil {
			return outcome
		}
	}
	return crashed
}

// decideEdited asks without a body where edit is nil.
func (s *session) decideEdited(q *question, edit func([]byte) []byte) (bool, error) {
	if edit == nil {
		return s.decide(q)
	}
	return s.raw(q, edit)
}

// apply returns the question to ask, and how the bytes of its body are changed, if they are.
func (s *session) apply(h *hostile, q *question) (*question, func([]byte) []byte) {
	changed := *q
	for field, value := range map[*string]*string{&changed.User: h.User, &changed.Namespace: h.Namespace, &changed.Verb: h.Verb, &changed.Resource: h.Resource} {
		if value != nil {
			*field = strings.Repeat(strings.NewReplacer("USER", q.User, "NAMESPACE", q.Namespace).Replace(*value), max(h.Times, 1))
		}
	}
	if h.Upper {
		changed.User = strings.ToUpper(changed.User)
	}
	switch {
	case h.Body != nil:
		return q, func([]byte) []byte { return []byte(strings.Repeat(*h.Body, max(h.Times, 1)) + h.End) }
	case h.Hex != "":
		raw, _ := hex.DecodeString(h.Hex)
		if s.process() == 0 {
			changed.User += string(raw)
			return &changed, nil
		}
		return q, func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(q.User), append([]byte(q.User), raw...))
		}
	case h.Cut:
		return q, func(body []byte) []byte { return body[:len(body)/2] }
	case h.Twice:
		member := regexp.MustCompile(`("\w+"):"([^"]*)` + regexp.QuoteMeta(q.User) + `"`)
		return q, func(body []byte) []byte {
			return member.ReplaceAll(body, []byte(`$1:"${2}stranger",$1:"${2}`+q.User+`"`))
		}
	}
	return &changed, nil
}
