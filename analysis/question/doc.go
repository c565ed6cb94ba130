// Package question answers who can do something (Asker.WhoCan) and what a subject can do
// (Asker.WhatCan). The statements of one revision and a question come in; an answer with
// all statements that fit the question goes out. The package must not know where a
// question was asked: HTTP, a command or the console.
//
// A running server asks an active revision p, a decision.Policies, with
//
//	asker := &question.Asker{World: statement.Of(p), Judge: judge.Of(p), Revision: p.Revision(), Now: p.Now()}
//	answer, err := asker.WhoCan(ctx, &question.Question{
//		Stated: map[string]any{"verb": "delete", "resource": "pods", "apiGroup": "", "namespace": "shop"},
//		Open:   append(question.Facts(), "name"),
//	})
//
// Statements returns nil for a bundle without the tables that statements are made of.
// Answers are JSON for programs; their method Table writes them for people.
package question
