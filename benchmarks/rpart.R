# Bagging of deep rpart trees. The records come as files of numbers; only the growing is timed.
#   Rscript rpart.R fit DIRECTORY ROWS COLUMNS TREES SEED     prints seconds and megabytes
#   Rscript rpart.R predict DIRECTORY ROWS COLUMNS            writes shares.bin
#   Rscript rpart.R versions                                  prints those of R and of rpart
library(rpart)

arguments <- commandArgs(trailingOnly = TRUE)
if (arguments[1] == "versions") {
  cat(as.character(getRversion()), as.character(packageVersion("rpart")), "\n")
  quit()
}
directory <- arguments[2]
rows <- as.integer(arguments[3])
columns <- as.integer(arguments[4])

read_features <- function(name) {
  numbers <- readBin(file.path(directory, name), "double", rows * columns)
  as.data.frame(matrix(numbers, rows, columns))
}

if (arguments[1] == "fit") {
  train <- read_features("train.bin")
  train$y <- factor(readBin(file.path(directory, "classes.bin"), "integer", rows))
  trees <- as.integer(arguments[5])
  set.seed(as.integer(arguments[6]))
  # A complexity below 0 keeps every split.
  deep <- rpart.control(minsplit = 2, minbucket = 1, cp = -1, maxdepth = 30, xval = 0,
                        maxcompete = 0, maxsurrogate = 0, usesurrogate = 0)
  before <- sum(gc(reset = TRUE)[, 2])
  start <- proc.time()[["elapsed"]]
  grown <- lapply(seq_len(trees), function(i) {
    rpart(y ~ ., data = train[sample.int(rows, replace = TRUE), ], method = "class", control = deep,
          model = FALSE, x = FALSE, y = FALSE)
  })
  seconds <- proc.time()[["elapsed"]] - start
  peak <- gc()
  cat(seconds, sum(peak[, ncol(peak)]) - before, "\n")
  saveRDS(grown, file.path(directory, "trees.rds"), compress = FALSE)
} else {
  test <- read_features("test.bin")
  grown <- readRDS(file.path(directory, "trees.rds"))
  shares <- Reduce(`+`, lapply(grown, function(tree) predict(tree, test, type = "prob")[, 2])) / length(grown)
  writeBin(as.double(shares), file.path(directory, "shares.bin"))
}
