autocmd BufRead,BufNewFile *.lisma setfiletype lisma
