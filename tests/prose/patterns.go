package main

import (
	"regexp"
	"strings"
)

// A pattern is wording the repository does not use.
type pattern struct {
	name    string
	match   *regexp.Regexp
	instead string
	// except reports whether a match is idiomatic where it stands, given the text
	// before and after it. Nil means never.
	except func(before, match, after string) bool
}

// patterns are matched case-insensitively on text whose line breaks are spaces.
// Names are split into words first: isNone is matched as "is none".
var patterns = []pattern{
	{
		name:    "is no",
		match:   words(`(is|are|was|were|be|been) no \w+`),
		instead: `write "is not a ..." or "must be a ..."`,
		except: func(before, match, _ string) bool {
			last := match[strings.LastIndexByte(match, ' ')+1:]
			return idiomaticAfterNo[strings.ToLower(last)] || endsWithWord(before, "there")
		},
	},
	{
		name:    "is none",
		match:   words(`(is|are|was|were|be) none`),
		instead: `write "is not a ..."`,
		except:  func(before, _, _ string) bool { return endsWithWord(before, "there") },
	},
	{
		name:    "nobody",
		match:   words(`whoever|whomever|nobody|somebody`),
		instead: "name the caller, user, component or value",
		except:  func(_, _, after string) bool { return strings.HasPrefix(after, ", where: ") }, // a line of who-can
	},
	{name: "door", match: words(`doors?`), instead: "endpoint for HTTP, listener for a socket"},
	{name: "trouble", match: words(`troubles?|troubled`), instead: "error, or evaluation error"},
	{
		name:    "tell",
		match:   words(`tell|tells|told|telling|tellers?`),
		instead: "return, report, show, record, notify",
		except: func(_, _, after string) bool {
			sentence, _, _ := strings.Cut(after, ". ")
			return strings.Contains(sentence, " apart")
		},
	},
	{name: "hear", match: words(`hears?|heard|hearing|ears?`), instead: "receive, observe; observer"},
	{name: "sieve", match: words(`sieves?`), instead: "filter"},
	{name: "ring", match: words(`rings?`), instead: "cycle"},
	{name: "halves", match: words(`halves`), instead: "name the two parts"},
	{name: "keeper", match: words(`keepers?`), instead: "store, or what the type does"},
	{name: "grounds", match: words(`grounds?`), instead: "fingerprint, reason, cause"},
	{
		name:    "demand",
		match:   words(`demands?|demanded|demanding`),
		instead: "precondition, require",
		except:  func(before, _, _ string) bool { return endsWithWord(before, "on") },
	},
	{name: "standing", match: words(`standing`), instead: "status, state"},
	{name: "there is no", match: words(`there (is|are|was|were) (no|none|nothing|not)`), instead: "name the value first: \"X does not exist\", \"X is missing\", \"X is empty\""},
	{name: "what came", match: words(`what (came|comes in)`), instead: "name the value"},
}

// idiomaticAfterNo are words that make "is no ..." plain English or a term of
// the project: the outcome "no opinion".
var idiomaticAfterNo = map[string]bool{
	"longer": true, "more": true, "less": true, "fewer": true, "larger": true, "greater": true, "later": true, "opinion": true,
}

func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + alternatives + `)\b`)
}

func endsWithWord(text, word string) bool {
	text = strings.ToLower(strings.TrimRight(text, " -"))
	text = strings.ReplaceAll(strings.ReplaceAll(text, `"`, " "), "`", " ")
	rest, found := strings.CutSuffix(text, word)
	return found && (rest == "" || strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, "("))
}
