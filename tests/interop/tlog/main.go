// The transparency log as programs of others read it: Go's note and tlog, and the formats of C2SP.
//
// The folder has `log.vkey`, `notes/<size>`, `tile/…`, `entries` (a bundle of all entries),
// `policy`, `receipts/<index>` and `refused/<name>`.  It prints what it checked, or exits with 1.
// `log KEY PLACE` reads a whole log, and holds the notes of the folder against it.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	f_log "github.com/transparency-dev/formats/log"
	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/formats/witness"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "cosign" {
		check(cosign(os.Args[2]))
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "log" {
		checkLog(os.Args[2], place(os.Args[3]))
		return
	}
	check(os.Chdir(os.Args[1]))
	entries := decodeBundle(read("entries"))
	verifier, err := note.NewVerifier(strings.TrimSpace(string(read("log.vkey"))))
	check(err)
	trees := openNotes(verifier)
	last := trees[len(trees)-1]
	checkTrees(trees, entries, tlog.TileHashReader(last, place(".")))
	checkReceipts(verifier, entries)
	fmt.Printf("%d notes, %d entries\n", len(trees), len(entries))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(name string) []byte {
	data, err := os.ReadFile(name)
	check(err)
	return data
}

func names(pattern string) []string {
	found, err := filepath.Glob(pattern)
	check(err)
	return found
}

func decodeBundle(data []byte) [][]byte {
	var entries [][]byte
	for len(data) > 0 {
		length := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:length])
		data = data[length:]
	}
	return entries
}

// openNotes verifies each note, and returns the trees in the order of their sizes.
func openNotes(verifier note.Verifier) []tlog.Tree {
	var trees []tlog.Tree
	for _, name := range names("notes/*") {
		opened, err := note.Open(read(name), note.VerifierList(verifier))
		check(err)
		trees = append(trees, parseTree(opened.Text))
	}
	slices.SortFunc(trees, func(a, b tlog.Tree) int { return int(a.N - b.N) })
	return trees
}

func afterLine(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// checkTrees proves each entry, and each tree as the beginning of the last.
func checkTrees(trees []tlog.Tree, entries [][]byte, hashes tlog.HashReader) {
	last := trees[len(trees)-1]
	if last.N != int64(len(entries)) {
		check(fmt.Errorf("%d entries, but the size is %d", len(entries), last.N))
	}
	for index, entry := range entries {
		path, err := tlog.ProveRecord(last.N, int64(index), hashes)
		check(err)
		check(tlog.CheckRecord(path, last.N, last.Hash, int64(index), tlog.RecordHash(entry)))
	}
	for _, tree := range trees {
		if tree.N == 0 {
			continue
		}
		path, err := tlog.ProveTree(last.N, tree.N, hashes)
		check(err)
		check(tlog.CheckTree(path, last.N, last.Hash, tree.N, tree.Hash))
	}
}

// checkReceipts verifies our receipts by the policy, and refuses those that do not hold.
func checkReceipts(verifier note.Verifier, entries [][]byte) {
	policy, err := witness.ParsePolicy(read("policy"))
	check(err)
	for _, name := range names("receipts/*") {
		index, err := strconv.Atoi(filepath.Base(name))
		check(err)
		check(checkReceipt(read(name), policy, verifier, entries[index]))
	}
	for _, name := range names("refused/*") {
		if checkReceipt(read(name), policy, verifier, nil) == nil {
			check(fmt.Errorf("%s holds", name))
		}
	}
}

func checkReceipt(data []byte, policy witness.Group, verifier note.Verifier, entry []byte) error {
	var receipt proof.TLogProof
	if err := receipt.Unmarshal(data); err != nil {
		return err
	}
	if entry != nil && !bytes.Equal(receipt.ExtraData, entry) {
		return errors.New("another entry")
	}
	checkpoint, _, _, err := f_log.ParseCheckpoint(receipt.Checkpoint, verifier.Name(), verifier)
	if err != nil {
		return err
	}
	if !policy.Satisfied(receipt.Checkpoint) {
		return errors.New("the policy is not satisfied")
	}
	var path tlog.RecordProof
	for _, hash := range receipt.Hashes {
		path = append(path, hash)
	}
	root, size := tlog.Hash(checkpoint.Hash), int64(checkpoint.Size)
	leaf := tlog.RecordHash(receipt.ExtraData)
	return tlog.CheckRecord(path, size, root, int64(receipt.Index), leaf)
}

// cosign adds cosignatures of both kinds to a note, and prints the keys of the witnesses.
func cosign(name string) error {
	data := read(name)
	text, _, _ := strings.Cut(string(data), "\n\n")
	for _, key := range names(filepath.Join(filepath.Dir(name), "*.skey")) {
		signer, err := f_note.NewSignerForCosignatureV1(strings.TrimSpace(string(read(key))))
		if err != nil {
			return err
		}
		signed, err := note.Sign(&note.Note{Text: text + "\n"}, signer)
		if err != nil {
			return err
		}
		_, line, _ := strings.Cut(string(signed), "\n\n")
		data = append(data, line...)
	}
	_, err := os.Stdout.Write(data)
	return err
}
